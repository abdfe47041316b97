package limits

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// division is one window of a limit: its write shards, and how Max is divided among them.
type division struct {
	Limit
	items  string    // the table
	bucket string    // the window's label
	start  time.Time // of the window
	first  int       // the number of write shards with a share of Max: the shard count at start
	newest int       // the newest shard count: hits go to write shards below it
	all    int       // the number of write shards that may have been written to in the window
}

// hasShare reports whether a write shard has a share of Max. Others get quota by transfers only.
func (d *division) hasShare(n int) bool { return n < d.first }

// share returns a write shard's share of Max. A share never falls if Max rises, so the shares
// of the highest Max bound the total use, whatever Max other calls have.
func (d *division) share(n int) int64 {
	switch first := int64(d.first); {
	case !d.hasShare(n):
		return 0
	case int64(n) < d.Max%first:
		return d.Max/first + 1
	default:
		return d.Max / first
	}
}

// takeQuota returns the update that takes quota from a write shard, on condition that this much remains
// there. Hits use it up, or the same transaction adds it to another write shard. So the total use is
// always the number of hits.
func (d *division) takeQuota(n int, quota int64) *types.Update {
	u, most := d.addUsed(n, quota), d.share(n)-quota
	u.ConditionExpression = aws.String("#used <= :most")
	if most >= 0 {
		u.ConditionExpression = aws.String("attribute_not_exists(#used) OR #used <= :most")
	}
	u.ExpressionAttributeValues[":most"] = dynamo.Number(most)
	u.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	return u
}

// addUsed returns the update that adds to a write shard's use. A negative number adds to its quota.
func (d *division) addUsed(n int, used int64) *types.Update {
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
	base := schema.BaseKey{Type: kind.Limit, Name: d.Key}
	return dynamo.Key(schema.Key{Base: base, Bucket: d.bucket, Shard: n}.String(), schema.SoleSK)
}
