package ddb

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// entryLoad is the load of an entry's write, as SubmitTransact makes it, on the
// index. What was there before had nearly the same size.
func entryLoad(put *types.Put, now time.Time) (load, bool) {
	place := text(put.Item, schema.BoardShard)
	board, _, n, err := schema.ParseBoardShardKey(place)
	units := 2 * writeUnits(put.Item)
	if len(put.ExpressionAttributeValues) > 0 { // an entry with a rev goes
		units *= 2
	}
	key := schema.Key{Base: schema.BaseKey{Type: schema.Board, Name: board}, Shard: n}
	return load{key: key, units: units, at: now, probe: indexProbe(place), index: true}, err == nil
}

// indexProbe is a probe of an index partition. In the table it has a partition
// key that is no other item's, whatever a board's name; in the index it comes
// after all places.
func indexProbe(place string) item {
	it := itemKey(schema.ProbeSK+"#"+place, schema.ProbeSK)
	it[schema.BoardShard] = &types.AttributeValueMemberS{Value: place}
	it[schema.RankKey] = &types.AttributeValueMemberS{Value: schema.ProbeSK}
	return it
}
