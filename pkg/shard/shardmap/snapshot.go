package shardmap

import (
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
	"github.com/hotshard/hotshard/internal/base/packed"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

const (
	// SnapshotAge is the age beyond which StoreSnapshot replaces a snapshot.
	SnapshotAge = 10 * time.Minute

	snapshotTime = time.Hour // how long an item of a snapshot is kept
	maxSlice     = 390_000   // bytes of entries in one item, of the 400 KB that DynamoDB stores
)

// Attributes of a snapshot's items:
//
//	pk          S  snapshot-1#0 to snapshot-1#3, as the keys' buckets
//	sk          S  0 to 7, by the base key
//	taken       N  Unix seconds: when the bucket began to be read
//	entries     B  packed; absent if they can't be stored
//	expires_at  N  an hour after taken
const (
	attrTaken   = "taken"
	attrEntries = "entries"
)

// StoreSnapshot reads all keys and stores their entries in a few items, which cost a process that
// starts a tenth of the keys' items. It does nothing if the stored snapshot is younger than
// SnapshotAge. A bucket that can't be stored is in the error, and processes read its keys' items.
func (c *Changer) StoreSnapshot(ctx context.Context, now time.Time) error {
	now, begin := now.Round(0), time.Now().Round(0)
	if due, err := c.snapshotDue(ctx, now); err != nil || !due {
		return err
	}
	var errs []error
	for n, input := range c.partQueries() {
		if err := c.storeBucket(ctx, n, input, now.Add(dynamo.Since(begin))); err != nil {
			errs = append(errs, fmt.Errorf("storing bucket %d of the shard map's snapshot: %w", n, err))
		}
	}
	return errors.Join(errs...)
}

// snapshotDue reports whether the item that is stored last is older than SnapshotAge, or absent.
func (c *Changer) snapshotDue(ctx context.Context, now time.Time) (bool, error) {
	out, err := c.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &c.table, Key: snapshotKey(schema.MapParts-1, schema.MapSlices-1),
		ProjectionExpression: aws.String(attrTaken),
	}, dynamo.NoRetry)
	if err != nil {
		return false, fmt.Errorf("reading the snapshot of the shard map: %w", dynamo.Kind(err))
	}
	taken, err := instant(out.Item, attrTaken)
	return err != nil || now.Sub(taken).Abs() > SnapshotAge, nil
}

func snapshotKey(part, slice int) dynamo.Item {
	return dynamo.Key(schema.MapSnapshot(part), strconv.Itoa(slice))
}

// storeBucket stores the snapshot of one bucket, as of before it was read. Entries that can't be
// read, or are too many for an item, are not stored. Its error then says so.
func (c *Changer) storeBucket(ctx context.Context, part int, input *dynamodb.QueryInput, taken time.Time) error {
	var list [schema.MapSlices][]byte
	var faults [schema.MapSlices]error
	input.ProjectionExpression = aws.String(seenOfKeys)
	for it, err := range dynamo.Items(ctx, c.patient(pageTime), input) {
		if err != nil {
			return err
		}
		key, ok := ownKey(part, it)
		if !ok {
			continue
		}
		e, slice := readEntry(key, it), schema.MapSlice(key)
		if list[slice] = appendEntry(list[slice], e); e.fault != nil {
			faults[slice] = e.fault
		}
	}
	var left error
	for slice, entries := range list {
		it := snapshotKey(part, slice)
		it[attrTaken], it[schema.ExpiresAt] = seconds(dated(taken)), dynamo.Number(taken.Add(snapshotTime).Unix())
		if len(entries) > maxSlice {
			faults[slice] = fmt.Errorf("%d bytes of entries are too many for an item", len(entries))
		}
		if faults[slice] == nil {
			it[attrEntries] = &types.AttributeValueMemberB{Value: append([]byte{}, entries...)} // also without keys
		} else {
			left = faults[slice]
		}
		err := dynamo.Persist(ctx, func(ctx context.Context) error {
			_, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: it}, dynamo.NoRetry)
			return err
		})
		if err != nil {
			return err
		}
	}
	return left
}

// readSnapshot reads a bucket's snapshot and returns its entries, and when the first of them may
// have been read. ok is false if an item is missing, unreadable or too old. The reads are
// eventually consistent: an older item only has an earlier time.
func (s *stored) readSnapshot(ctx context.Context, part int, now time.Time, maxAge time.Duration) (entries []Entry, taken time.Time, ok bool, err error) {
	items := dynamo.Items(ctx, s.patient(pageTime), &dynamodb.QueryInput{
		TableName: &s.table, KeyConditionExpression: aws.String("pk = :snapshot"),
		ExpressionAttributeValues: dynamo.Item{":snapshot": dynamo.String(schema.MapSnapshot(part))},
	})
	found := 0
	for it, err := range items {
		if err != nil {
			return nil, time.Time{}, false, err
		}
		at, err := instant(it, attrTaken)
		if age := now.Sub(at); err != nil || age > maxAge || age < -Clocks {
			return nil, time.Time{}, false, nil
		}
		b, _ := it[attrEntries].(*types.AttributeValueMemberB)
		if b == nil {
			return nil, time.Time{}, false, nil
		}
		if entries, err = appendEntries(entries, b.Value); err != nil {
			return nil, time.Time{}, false, nil
		}
		if found++; found == 1 || at.Before(taken) {
			taken = at
		}
	}
	return entries, taken, found == schema.MapSlices, nil
}

// Flags of a packed entry.
const (
	flagPinned = 1 << iota
	flagForgotten
	flagGone
)

// appendEntry packs an entry without its notes.
func appendEntry(b []byte, e Entry) []byte {
	var flags uint64
	for flag, set := range map[uint64]bool{flagPinned: e.Pinned, flagForgotten: e.Forgotten, flagGone: e.gone} {
		if set {
			flags |= flag
		}
	}
	b = binary.AppendUvarint(packed.AppendText(b, e.Key), flags)
	b = binary.AppendVarint(binary.AppendVarint(b, e.Version), e.Updated.UnixMilli())
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(e.Max)), uint64(len(e.History)))
	for _, change := range e.History {
		b = binary.AppendUvarint(binary.AppendVarint(b, change.At.UnixMilli()), uint64(change.Count))
	}
	return b
}

// appendEntries appends the entries of a snapshot's item.
func appendEntries(list []Entry, b []byte) ([]Entry, error) {
	r := packed.Reader{Left: b}
	for len(r.Left) > 0 {
		e := Entry{Key: r.Text()}
		flags := r.Uint()
		e.Pinned, e.Forgotten, e.gone = flags&flagPinned != 0, flags&flagForgotten != 0, flags&flagGone != 0
		e.Version, e.Updated, e.Max = r.Int(), time.UnixMilli(r.Int()).UTC(), int(r.Uint())
		e.History = make(shard.History, 0, min(r.Uint(), uint64(len(r.Left))))
		for range cap(e.History) {
			e.History = append(e.History, shard.Change{At: time.UnixMilli(r.Int()).UTC(), Count: int(r.Uint())})
		}
		list = append(list, e)
	}
	return list, r.Err
}
