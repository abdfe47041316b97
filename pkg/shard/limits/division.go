package limits

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// division is one window of a limit: its write shards, and how Max is divided among them.
type division struct {
	Limit
	items     string    // the name of the items table
	start     time.Time // of the window
	withShare int       // the number of write shards with a share of Max: the shard count at start
	newest    int       // the newest shard count: hits go to write shards below it
	allShards int       // the number of write shards that may have been written to in the window
}

// hasShare reports whether a write shard has a share of Max. A write shard without a share gets quota only by transfers.
func (d *division) hasShare(n int) bool { return n < d.withShare }

// share returns a write shard's share of Max, in hits. No share falls if Max rises, so the shares
// of the highest Max bound the total use, whatever Max other calls have.
func (d *division) share(n int) int64 {
	count := int64(d.withShare)
	switch {
	case !d.hasShare(n):
		return 0
	case int64(n) < d.Max%count:
		return d.Max/count + 1
	}
	return d.Max / count
}

// update returns the update of a change, on condition that the write shard has the quota to use, or the hits to give
// back; receiving quota needs no condition. Quota that a change uses without hits goes to another write shard in the
// same transaction. So the sum of used over all write shards is always the number of hits.
func (d *division) update(c change) *types.Update {
	u := &types.Update{
		TableName: &d.items, Key: d.itemKey(c.n),
		UpdateExpression:         aws.String("SET expires_at = :expires ADD #used :used, #hits :hits"),
		ExpressionAttributeNames: map[string]string{"#used": schema.LimitUsed, "#hits": schema.LimitHits},
		ExpressionAttributeValues: dynamo.Item{
			":used": dynamo.Number(c.used), ":hits": dynamo.Number(c.hits), ":expires": dynamo.Number(d.expires().Unix()),
		},
	}
	bound := int64(0)
	switch {
	case c.hits < 0:
		bound, u.ConditionExpression = -c.hits, aws.String("#hits >= :bound")
	case c.used <= 0: // the write shard receives quota
		return u
	default:
		bound, u.ConditionExpression = d.share(c.n)-c.used, aws.String("#used <= :bound")
		if bound >= 0 { // a write shard without an item has used 0
			u.ConditionExpression = aws.String("attribute_not_exists(#used) OR #used <= :bound")
		}
	}
	u.ExpressionAttributeValues[":bound"] = dynamo.Number(bound)
	u.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	return u
}

// expires returns when the use is no longer needed. A sliding limit also needs the use in the next window.
func (d *division) expires() time.Time {
	needed := d.end()
	if d.Sliding {
		needed = d.nextStart(needed)
	}
	return needed.Add(schema.LimitLifetime)
}

func (d *division) end() time.Time { return d.nextStart(d.start) }

// bucket returns the window's label.
func (d *division) bucket() string { return schema.LimitBucket(d.start, d.Window) }

func (d *division) itemKey(n int) dynamo.Item {
	base := schema.BaseKey{Type: schema.Limit, Name: d.Key}
	return dynamo.Key(schema.Key{Base: base, Bucket: d.bucket(), Shard: n}.String(), schema.SoleSK)
}
