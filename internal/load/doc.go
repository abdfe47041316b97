// Package load drives a hotshard API with a workload, measures it, and checks
// afterwards that what was accepted is what the API then tells.
//
//	source, err := workload.Log("events/access.log.gz", 0)
//	result, err := load.Run(ctx, load.Options{Target: "http://127.0.0.1:8080", Source: source, Verify: true})
//	fmt.Println(result.PerSecond, result.Verify.Differences)
//
// Each request is one event (POST /v1/events), one increment (POST /v1/counters)
// and, with a board, one score (POST /v1/scores). An answer of 429 or 503 means
// that nothing was accepted, so the call is sent again, a bounded number of times.
// When an answer is lost, or says of an item that it may have been written, that
// may or may not have been applied: events are sent again, since an event is the
// same event however often it comes, and so are increments and scores under an
// Idempotency-Key. Without a key they are not; they are counted as unknown, and
// their counter, or their player's sum, may end up on either side of them.
//
// With Verify it reads before the load what is there, so that a system with data can be
// verified, and afterwards looks until all is right or comes no nearer for 30 s. Of the board
// it reads all places, the kept top, and each player's own entry and rank: each entry must have
// the sum that was accepted, the places must be in order and have the same scores, the kept top
// must be their begin, and a rank may be off by as much as the API says with it. Players of
// other loads count in the ranks; one who came from nowhere is a difference.
//
// A player's entry is one item, and a sum is read and written back on condition. So calls in
// flight for one player wait for each other, those with an Idempotency-Key longest.
package load
