package shardmap

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Write is one write of a transaction, with the attempt that observers receive. A caller's own
// write has only an Action and is not observed.
type Write struct {
	Action  types.TransactWriteItem
	Attempt shard.Attempt // without its call and outcome; an empty Key means that it is not observed

	// Probe is a small item in the write shard's partition, without an expiry; nil if there is none. A throttled
	// transaction does not give the reason, but a throttled put of the probe does.
	Probe map[string]types.AttributeValue
	// Transfer means that the write transfers quota between two write shards of a limit. It is
	// observed as [shard.Inconclusive], since more write shards cause more transfers.
	Transfer bool
}
