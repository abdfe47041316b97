package shardmap

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

const (
	snapshotAge  = 10 * time.Minute // the age beyond which StoreSnapshot replaces a snapshot
	snapshotTime = time.Hour        // how long an item of a snapshot is kept
	maxSlice     = 390_000          // bytes of entries in one item; DynamoDB stores items of up to 400 KB
)

// Attributes of a snapshot's items:
//
//	pk          S  snapshot-1#0 to snapshot-1#3, as the keys' buckets
//	sk          S  0 to 7, by the base key
//	taken       N  Unix seconds: a time before the first of its entries was read
//	entries     B  packed; absent if they can't be stored
//	expires_at  N  an hour after taken
//
// Each item has all entries of its keys, as of taken or later, and the log has their changes since
// taken. So a load may mix items of several snapshots.
const (
	attrTaken   = "taken"
	attrEntries = "entries"
)

// StoreSnapshot stores the entries of all keys in 32 items. A starting process reads these instead of all keys, which
// makes starts cheap if the map has thousands of keys. A snapshot is used for half an hour. Call StoreSnapshot once a
// minute, in any number of processes: it does nothing if the stored snapshot is at most ten minutes old. If an entry
// can't be read or stored, the error names it, and starting processes read all keys of that entry's bucket.
func (c *Changer) StoreSnapshot(ctx context.Context, now time.Time) error {
	now, err := c.changeTime(now)
	if err = cmp.Or(c.Check(), err); err != nil {
		return err
	}
	clock := dynamo.StartClock(now)
	if due, err := c.snapshotDue(ctx, clock.Now()); !due {
		return err
	}
	var errs []error
	for bucket, query := range c.bucketQueries(aws.String(viewAttributes)) {
		if err := c.storeBucket(ctx, bucket, query, clock.Now()); err != nil {
			errs = append(errs, fmt.Errorf("storing bucket %d of the shard map's snapshot: %w", bucket, err))
		}
	}
	return errors.Join(errs...)
}

// snapshotDue reports whether to store a snapshot: the item that StoreSnapshot stores last is absent, damaged, or more than
// snapshotAge from now.
func (c *Changer) snapshotDue(ctx context.Context, now time.Time) (due bool, err error) {
	out, err := c.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &c.table, Key: snapshotKey(schema.MapBuckets-1, schema.MapSlices-1),
		ProjectionExpression: aws.String(attrTaken),
	}, dynamo.NoRetry)
	if err != nil {
		return false, fmt.Errorf("reading the snapshot of the shard map: %w", dynamo.Classify(err))
	}
	taken, unusable := parseSeconds(out.Item, attrTaken)
	return unusable != nil || now.Sub(taken).Abs() > snapshotAge, nil
}

func snapshotKey(bucket, slice int) dynamo.Item {
	return dynamo.Key(schema.MapSnapshot(bucket), strconv.Itoa(slice))
}

// storeBucket reads a bucket's keys and stores their snapshot. taken is a time before the read. If an entry can't be
// read, or the entries are too large, storeBucket stores the snapshot's item without entries, and returns an error.
func (c *Changer) storeBucket(ctx context.Context, bucket int, query *dynamodb.QueryInput, taken time.Time) error {
	packed, faults, err := c.packBucket(ctx, bucket, query)
	if err != nil {
		return err
	}
	for slice, entries := range packed {
		it := snapshotKey(bucket, slice)
		it[attrTaken], it[schema.ExpiresAt] = secondsValue(entryTime(taken)), dynamo.Number(taken.Add(snapshotTime).Unix())
		if faults[slice] == nil {
			it[attrEntries] = &types.AttributeValueMemberB{Value: append([]byte{}, entries...)} // empty rather than nil
		}
		err := dynamo.Persist(ctx, func(ctx context.Context) error {
			_, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: it}, dynamo.NoRetry)
			return err
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(faults[:]...)
}

// packBucket reads a bucket's keys. It returns the packed entries by slice. faults says why a slice can't be stored; it
// is nil for other slices.
func (c *Changer) packBucket(ctx context.Context, bucket int, query *dynamodb.QueryInput) (packed [schema.MapSlices][]byte, faults [schema.MapSlices]error, err error) {
	for e, err := range c.bucketEntries(ctx, bucket, query) {
		if err != nil {
			return packed, faults, err
		}
		slice := schema.MapSlice(e.Key)
		packed[slice] = appendEntry(packed[slice], e)
		if e.fault != nil {
			faults[slice] = e.fault
		}
	}
	for slice, entries := range packed {
		if len(entries) > maxSlice {
			faults[slice] = fmt.Errorf("slice %d has %d bytes of entries, of at most %d", slice, len(entries), maxSlice)
		}
	}
	return packed, faults, nil
}

// readSnapshot returns the entries of a bucket's snapshot, and taken, a time from which the log has their changes.
// usable is false if an item is missing, unreadable, older than maxAge, or from more than Clocks after now. The reads
// may be eventually consistent, since an outdated item has an earlier time.
func (s *tableReader) readSnapshot(ctx context.Context, bucket int, now time.Time, maxAge time.Duration) (entries []Entry, taken time.Time, usable bool, err error) {
	items := dynamo.Items(ctx, s.persistent(pageTime), &dynamodb.QueryInput{
		TableName: &s.table, KeyConditionExpression: aws.String("pk = :snapshot"),
		ExpressionAttributeValues: dynamo.Item{":snapshot": dynamo.String(schema.MapSnapshot(bucket))},
	})
	taken, found := now, 0
	for it, err := range items {
		if err != nil {
			return nil, now, false, err
		}
		at, err := parseSeconds(it, attrTaken)
		packed, _ := it[attrEntries].(*types.AttributeValueMemberB)
		if age := now.Sub(at); err != nil || packed == nil || age > maxAge || age < -Clocks {
			return nil, now, false, nil
		}
		if entries, err = appendEntries(entries, packed.Value); err != nil {
			return nil, now, false, nil
		}
		found++
		if at.Before(taken) {
			taken = at
		}
	}
	return entries, taken, found == schema.MapSlices, nil
}

// Flags of a packed entry.
const (
	flagPinned = 1 << iota
	flagForgotten
	flagDeleted
)

// appendEntry packs an entry without its notes.
func appendEntry(b []byte, e Entry) []byte {
	var flags byte
	for flag, isSet := range map[byte]bool{flagPinned: e.Pinned, flagForgotten: e.Forgotten, flagDeleted: e.deleted} {
		if isSet {
			flags |= flag
		}
	}
	b = append(schema.AppendText(b, e.Key), flags)
	b = binary.AppendVarint(binary.AppendVarint(b, e.Version), e.Updated.UnixMilli())
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(e.Max)), uint64(len(e.History)))
	for _, change := range e.History {
		b = binary.AppendUvarint(binary.AppendVarint(b, change.At.UnixMilli()), uint64(change.Count))
	}
	return b
}

// appendEntries unpacks the entries of a snapshot's item or a log item, and appends them to list.
func appendEntries(list []Entry, b []byte) ([]Entry, error) {
	r := schema.Unpacker{Left: b}
	for len(r.Left) > 0 {
		e := Entry{Key: r.Text()}
		flags := r.Byte()
		e.Pinned, e.Forgotten, e.deleted = flags&flagPinned != 0, flags&flagForgotten != 0, flags&flagDeleted != 0
		e.Version, e.Updated, e.Max = r.Int(), time.UnixMilli(r.Int()).UTC(), int(r.Uint())
		changes := min(r.Uint(), uint64(len(r.Left))) // a damaged item may have a huge number
		e.History = make(shard.History, 0, changes)
		for range changes {
			e.History = append(e.History, shard.Change{At: time.UnixMilli(r.Int()).UTC(), Count: int(r.Uint())})
		}
		list = append(list, e)
	}
	return list, r.Err
}
