// Package libtest is what the tests of the packages below pkg/shard share: the tables of a
// test, clients that fail or lose answers, observers that keep what they see.
//
//	d := libtest.Deploy(t)
//	writer := counters.NewWriter(&libtest.Flaky{Client: d.Client}, d.Names.Items, d.Shards, counters.Options{})
package libtest
