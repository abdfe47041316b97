// Package wingtest is what the tests of the packages below pkg/shard share: the tables of a
// test, clients that fail or lose answers, watchers that note what they are told.
//
//	d := wingtest.Deploy(t)
//	writer := counters.NewWriter(&wingtest.Flaky{Client: d.Client}, d.Names.Items, d.Shards, counters.Options{})
package wingtest
