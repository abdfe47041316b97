// Package shard spreads a hot DynamoDB key over several partition keys and finds them again.
//
// One DynamoDB partition takes 1,000 write units and 3,000 read units a second. A key that needs more is written under
// N partition keys with suffixes, its write shards, numbered 0 to N-1:
//
//	key := shard.Hash.Join("page/home", shard.Random(10)) // page/home#7
//	for n := range 10 {
//		query(shard.Hash.Join("page/home", n))
//	}
//
// The package has the key format ([Format]) and two ways to choose a write shard. [Random] is for writes that are never
// read one by one, [Calculated] for items that are looked up by an attribute. There are time buckets ([Bucket]), sort
// keys that begin with a time ([Stamp]), composite keys ([Compose]) and TTL times ([Expiry]). [History] is the write
// shard count as a function of time. [SpreadOf] measures how evenly write shards are used. Package plan calculates how
// many write shards a peak needs, and their cost.
//
// The package depends only on the standard library and does no I/O. The packages below it work on DynamoDB tables and
// return this package's kinds of errors. A call that depends on the time takes it as a parameter, usually time.Now().
package shard
