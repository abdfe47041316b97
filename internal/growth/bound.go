package growth

import "github.com/hotshard/hotshard/pkg/shard"

// Partitions is how many a table is taken to have as long as nobody has said: as many as
// DynamoDB gives a new table on demand.
const Partitions = 4

// Bound returns the largest count that can help on a table of so many partitions: with
// four write shards on each of them, more only meet on the same ones.
func Bound(partitions int) int {
	return min(shard.MaxShards, 4*max(partitions, 1))
}
