package limits

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
)

// division is a window of a limit: its write shards, and how Max is divided among them.
type division struct {
	Limit
	items  string    // the table
	bucket string    // the window's label
	start  time.Time // of the window
	first  int       // write shards with a part of Max: as many as there were at start
	newest int       // write shards to be written to
	all    int       // write shards that may have been written to in the window
}

// part is a write shard's part of Max. It never falls when Max rises, so that the
// parts of the highest Max bound what is used whatever other calls went by.
func (d *division) part(n int) int64 {
	switch first := int64(d.first); {
	case n >= d.first:
		return 0
	case int64(n) < d.Max%first:
		return d.Max/first + 1
	default:
		return d.Max / first
	}
}

// update adds the hit to a write shard on condition that it has room.
func (d *division) update(n int) *types.Update {
	u := d.add(n, 1)
	u.ConditionExpression = aws.String("#used < :part")
	if d.part(n) > 0 {
		u.ConditionExpression = aws.String("attribute_not_exists(#used) OR #used < :part")
	}
	u.ExpressionAttributeValues[":part"] = dynamo.Number(d.part(n))
	return u
}

func (d *division) add(n int, used int64) *types.Update {
	return &types.Update{
		TableName: &d.items, Key: d.itemKey(n),
		UpdateExpression:         aws.String("SET expires_at = :expires ADD #used :used"),
		ExpressionAttributeNames: map[string]string{"#used": schema.LimitUsed},
		ExpressionAttributeValues: dynamo.Item{
			":used": dynamo.Number(used), ":expires": dynamo.Number(d.end().Add(schema.LimitLifetime).Unix()),
		},
	}
}

func (d *division) end() time.Time { return d.start.Add(d.Window) }

func (d *division) itemKey(n int) dynamo.Item {
	base := schema.BaseKey{Type: schema.Limit, Name: d.Key}
	return dynamo.Key(schema.Key{Base: base, Bucket: d.bucket, Shard: n}.String(), schema.SoleSK)
}

// exchange takes a share of the donor's room for write shard n, and the hit out of
// that. Both writes are one transaction, so that the sum of what is used is the number
// of hits at any time.
func (d *division) exchange(n, donor int, share int64) []types.TransactWriteItem {
	give := d.add(donor, share)
	give.ConditionExpression = aws.String("attribute_not_exists(#used) OR #used <= :most")
	give.ExpressionAttributeValues[":most"] = dynamo.Number(d.part(donor) - share)
	give.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	return []types.TransactWriteItem{{Update: give}, {Update: d.add(n, 1-share)}}
}
