// Package herd measures the thundering herd of rate limits: callers who were refused
// come back when their window ends, all of them at the same second. Begins of windows
// that differ by key ([limits.Options].Stagger), and a random wait of the callers,
// spread them.
//
//	go -C bench test -v -run Herd ./herd -keys 1000
//
// The library and the partition limiter are the real ones; the clock and the engine
// behind them are the test's, so that nothing else is measured.
package herd
