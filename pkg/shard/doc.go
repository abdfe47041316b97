// Package shard spreads a hot DynamoDB key over several partition keys and
// finds them again.
//
// One DynamoDB partition takes 1,000 write units and 3,000 read units a second.
// A key that outgrows this is written under N suffixed partition keys, its write
// shards, numbered 0 to N-1:
//
//	key := shard.Hash.Join("page/home", shard.Random(10)) // page/home#7
//	for n := range 10 {
//		query(shard.Hash.Join("page/home", n))
//	}
//
// The package has the key format ([Format]), the two ways to choose a write
// shard ([Random] for writes that nobody looks up singly, [Calculated] for items
// that are found again by an attribute), time buckets ([Bucket]), sort keys that
// begin with a time ([Stamp]), composite keys ([Compose]), TTL stamps ([Expiry])
// and the write shard count as a function of time ([History]). Package plan says how
// many write shards a peak takes, and what they cost; [SpreadOf] how evenly they are
// used.
//
// It needs the standard library only and does no input or output; the packages
// below this one work on DynamoDB tables, and their errors are of the kinds here. A call that
// depends on the time is given it, time.Now() in a program; while it lasts it counts on from that.
package shard
