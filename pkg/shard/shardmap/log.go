package shardmap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// maxLogged bounds the changes in a log item. For a key with more changes, readers of the log read the
// key's item.
const maxLogged = 30

// errTooLong is the fault of a log item that has no changes because there are more than maxLogged.
var errTooLong = errors.New("its changes are too many for the log")

// logPuts returns puts of an item into every copy of the log. Each process polls one copy, since the
// polls of all would exceed one partition's limit. The items share attributes.
func (s *stored) logPuts(put types.Put) (list []types.TransactWriteItem) {
	put.TableName = &s.table
	for n := range schema.MapLogs {
		copied := put
		copied.Item = maps.Clone(put.Item)
		copied.Item[schema.PK] = dynamo.String(schema.MapLog(n))
		list = append(list, types.TransactWriteItem{Put: &copied})
	}
	return list
}

// logItem returns the log item of a changed entry. It has only what a view needs, since many
// processes read it several times:
//
//	pk               S  log#0 to log#3
//	sk               S  the time of the change, and a random suffix
//	key              S  the base key
//	version          N  this attribute and the next ones are those of the key's item
//	shard_history    L  absent if there are more than 30 changes
//	max_shards       N  absent if it is the history's largest count
//	pinned, forgotten, deleted  BOOL  absent if false
//	expires_at       N  two hours after the change
func (e Entry) logItem() dynamo.Item {
	it := dynamo.Item{
		schema.SK: dynamo.String(schema.MapLogSK(e.Updated, strconv.FormatUint(rand.Uint64(), 36))),
		attrKey:   dynamo.String(e.Key), attrVersion: dynamo.Number(e.Version),
	}
	it[schema.ExpiresAt] = dynamo.Number(e.Updated.Add(logTime).Unix())
	if len(e.History) <= maxLogged {
		it[attrHistory] = e.history()
	}
	if e.Max > e.History.Max(time.Time{}, farFuture) {
		it[attrMax] = dynamo.Number(int64(e.Max))
	}
	for name, is := range map[string]bool{attrPinned: e.Pinned, attrForgotten: e.Forgotten, attrDeleted: e.gone} {
		if is {
			it[name] = &types.AttributeValueMemberBOOL{Value: true}
		}
	}
	return it
}

// parseLogItem returns the entry of a log item; ok is false if the item is not a change.
func parseLogItem(it dynamo.Item) (e Entry, ok bool) {
	at, err := schema.ParseMapLogSK(dynamo.Text(it, schema.SK))
	key := dynamo.Text(it, attrKey)
	if err != nil || key == "" {
		return Entry{}, false
	}
	if e = readEntry(key, it); e.fault == nil && it[attrHistory] == nil {
		e.fault = errTooLong
	}
	e.Updated = at
	return e, true
}

// maxPartitions bounds a plausible number of partitions.
const maxPartitions = 1_000_000

// NotePartitions stores how many partitions a table has, for [Map.Partitions] of all processes after
// their next poll. hotshard's functions use the table names items and events. A number is ignored if
// a larger one was stored within the last day, since partitions are split often and merged rarely.
func (c *Changer) NotePartitions(ctx context.Context, table string, n int, now time.Time) error {
	if n < 1 || n > maxPartitions {
		return fmt.Errorf("%w: %d partitions are not 1 to %d", shard.ErrMisused, n, maxPartitions)
	}
	now, err := c.changeTime(now)
	if err != nil {
		return err
	}
	notes := c.logPuts(types.Put{
		Item: dynamo.Item{
			schema.SK: dynamo.String(schema.MapNoteSK(table)), attrNoted: dynamo.Number(int64(n)), attrUpdated: seconds(dated(now)),
		},
		ConditionExpression:      aws.String("attribute_not_exists(#n) OR #n <= :n OR last_updated < :old"),
		ExpressionAttributeNames: map[string]string{"#n": attrNoted},
		ExpressionAttributeValues: dynamo.Item{
			":n":   dynamo.Number(int64(n)),
			":old": seconds(dated(now).Add(-24 * time.Hour)),
		},
	})
	err = dynamo.Persist(ctx, func(ctx context.Context) error {
		_, err := c.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: notes}, dynamo.NoRetry)
		return err
	})
	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok && dynamo.HasReason(canceled, "ConditionalCheckFailed") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("noting %d partitions of %s: %w", n, table, err)
	}
	c.current().setPartitions(table, n)
	return nil
}
