// Package libtest has helpers for the tests below pkg/shard: the tables of a test, clients that
// fail or return ambiguous results, and observers that record attempts.
//
//	d := libtest.Deploy(t)
//	writer := counters.NewWriter(&libtest.Flaky{Client: d.Client}, d.Names.Items, d.Shards, counters.Options{})
package libtest
