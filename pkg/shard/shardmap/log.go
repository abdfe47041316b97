package shardmap

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// logPuts returns the puts of a changed entry into every copy of the log. Each process polls one copy, since the polls
// of all processes would exceed one partition's limit.
func (s *tableReader) logPuts(e Entry) (list []types.TransactWriteItem) {
	for logCopy := range schema.MapLogs {
		list = append(list, types.TransactWriteItem{Put: &types.Put{TableName: &s.table, Item: e.logItem(logCopy)}})
	}
	return list
}

// logItem returns the item of a changed entry in one copy of the log. It has only what a view needs,
// since many processes read it several times:
//
//	pk          S  log#0 to log#3
//	sk          S  the time of the change, and a random suffix
//	key         S  the base key
//	entry       B  packed, as in a snapshot
//	expires_at  N  two hours after the change
func (e Entry) logItem(logCopy int) dynamo.Item {
	it := dynamo.Key(schema.MapLog(logCopy), schema.MapLogSK(e.Updated, strconv.FormatUint(rand.Uint64(), 36)))
	it[attrKey], it[attrEntry] = dynamo.String(e.Key), &types.AttributeValueMemberB{Value: appendEntry(nil, e)}
	it[schema.ExpiresAt] = dynamo.Number(e.Updated.Add(logTime).Unix())
	return it
}

// parseLogItem returns the entry of a log item, with a fault if the entry can't be read. ok is false if the item is not
// a change.
func parseLogItem(it dynamo.Item) (e Entry, ok bool) {
	_, err := schema.ParseMapLogSK(dynamo.Text(it, schema.SK))
	key := dynamo.Text(it, attrKey)
	if err != nil || key == "" {
		return Entry{}, false
	}
	packed, _ := it[attrEntry].(*types.AttributeValueMemberB)
	if packed == nil {
		return Entry{Key: key, fault: fmt.Errorf("a log item of %q has no attribute %s", key, attrEntry)}, true
	}
	list, err := appendEntries(nil, packed.Value)
	if err != nil || len(list) != 1 || list[0].Key != key {
		return Entry{Key: key, fault: errors.Join(fmt.Errorf("attribute %s of a log item of %q can't be read", attrEntry, key), err)}, true
	}
	return list[0], true
}

// partitionsPrefix begins the keys under which the map has the tables' numbers of partitions, and no other keys.
const partitionsPrefix = "\x00partitions/"

// isPartitionCount reports whether a key of the map has a table's number of partitions.
func isPartitionCount(key string) bool { return strings.HasPrefix(key, partitionsPrefix) }

// NotePartitions stores how many partitions a table has, up to [shard.MaxShards], for [Map.Partitions] of all processes
// after their next poll. hotshard's functions use the table names items and events. An equal number is not stored again
// for an hour, nor a smaller one for a day, since partitions are split often and merged rarely.
func (c *Changer) NotePartitions(ctx context.Context, table string, n int, now time.Time) error {
	if n < 1 {
		return fmt.Errorf("%w: the number of partitions is %d: want 1 or more", shard.ErrMisused, n)
	}
	n = min(n, shard.MaxShards)
	_, err := ignoreNoChange(c.change(ctx, partitionsPrefix+table, now, func(e Entry, now time.Time) (Entry, error) {
		age, noted := now.Sub(e.Updated), e.History.Newest()
		isSmaller := n < noted && age <= 24*time.Hour
		isKnown := n == noted && age < time.Hour
		if isSmaller || isKnown {
			return e, ErrNoChange
		}
		at := entryTime(now)
		return Entry{Key: e.Key, History: shard.History{{At: at, Count: n}}, Max: n, Version: e.Version + 1, Updated: at}, nil
	}))
	if err != nil {
		return fmt.Errorf("noting %d partitions of %s: %w", n, table, err)
	}
	return nil
}
