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
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

const (
	snapshotAge  = 10 * time.Minute // the age beyond which StoreSnapshot replaces a snapshot
	snapshotTime = time.Hour        // how long an item of a snapshot is kept
	maxSlice     = 390_000          // bytes of entries in one item, of the 400 KB that DynamoDB stores
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

// errNoSnapshot means that a bucket has no snapshot that may be used.
var errNoSnapshot = errors.New("no snapshot may be used")

// StoreSnapshot stores the entries of all keys in 32 items. A starting process reads these instead of
// all keys, which makes starts cheap if the map has thousands of keys. A snapshot is used for half an
// hour. Call StoreSnapshot once a minute, in any number of processes: it does nothing if the stored
// snapshot is at most ten minutes old. If an entry can't be read or stored, the error names it, and
// starting processes read all keys of its bucket.
func (c *Changer) StoreSnapshot(ctx context.Context, now time.Time) error {
	now, err := c.changeTime(now)
	if err != nil {
		return err
	}
	clock := dynamo.StartClock(now)
	if due, err := c.snapshotDue(ctx, clock.Now()); !due {
		return err
	}
	var errs []error
	for n, input := range c.bucketQueries(aws.String(viewAttributes)) {
		if err := c.storeBucket(ctx, n, input, clock.Now()); err != nil {
			errs = append(errs, fmt.Errorf("storing bucket %d of the shard map's snapshot: %w", n, err))
		}
	}
	return errors.Join(errs...)
}

// snapshotDue reports whether the item that is stored last is absent or damaged, or its time is over snapshotAge from now. If
// the read fails, it returns false and the error.
func (c *Changer) snapshotDue(ctx context.Context, now time.Time) (bool, error) {
	out, err := c.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &c.table, Key: snapshotKey(schema.MapParts-1, schema.MapSlices-1),
		ProjectionExpression: aws.String(attrTaken),
	}, dynamo.NoRetry)
	if err != nil {
		return false, fmt.Errorf("reading the snapshot of the shard map: %w", dynamo.Kind(err))
	}
	taken, unusable := parseSeconds(out.Item, attrTaken)
	return unusable != nil || now.Sub(taken).Abs() > snapshotAge, nil
}

func snapshotKey(part, slice int) dynamo.Item {
	return dynamo.Key(schema.MapSnapshot(part), strconv.Itoa(slice))
}

// storeBucket reads a bucket's keys and stores their snapshot. taken is a time before the read. If an
// entry can't be read, or the entries are too large, it stores the snapshot's item without entries, and
// returns an error.
func (c *Changer) storeBucket(ctx context.Context, part int, input *dynamodb.QueryInput, taken time.Time) error {
	var slices [schema.MapSlices][]byte
	var faults [schema.MapSlices]error
	for e, err := range c.bucketEntries(ctx, part, input) {
		if err != nil {
			return err
		}
		slice := schema.MapSlice(e.Key)
		slices[slice] = appendEntry(slices[slice], e)
		if e.fault != nil {
			faults[slice] = e.fault
		}
	}
	for slice, entries := range slices {
		it := snapshotKey(part, slice)
		it[attrTaken], it[schema.ExpiresAt] = seconds(dated(taken)), dynamo.Number(taken.Add(snapshotTime).Unix())
		if len(entries) > maxSlice {
			faults[slice] = fmt.Errorf("%d bytes of entries are more than the %d of an item", len(entries), maxSlice)
		}
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

// readSnapshot returns the entries of a bucket's snapshot, and a time from which the log has their
// changes. It returns errNoSnapshot if an item is missing, unreadable or older than maxAge. The reads
// may be eventually consistent, since an outdated item has an earlier time.
func (s *stored) readSnapshot(ctx context.Context, part int, now time.Time, maxAge time.Duration) (entries []Entry, taken time.Time, err error) {
	items := dynamo.Items(ctx, s.persistent(pageTime), &dynamodb.QueryInput{
		TableName: &s.table, KeyConditionExpression: aws.String("pk = :snapshot"),
		ExpressionAttributeValues: dynamo.Item{":snapshot": dynamo.String(schema.MapSnapshot(part))},
	})
	taken, found := now, 0
	for it, err := range items {
		if err != nil {
			return nil, now, err
		}
		at, err := parseSeconds(it, attrTaken)
		packed, _ := it[attrEntries].(*types.AttributeValueMemberB)
		if age := now.Sub(at); err != nil || packed == nil || age > maxAge || age < -Clocks {
			return nil, now, errNoSnapshot
		}
		if entries, err = appendEntries(entries, packed.Value); err != nil {
			return nil, now, errNoSnapshot
		}
		found++
		if at.Before(taken) {
			taken = at
		}
	}
	if found != schema.MapSlices {
		return nil, now, errNoSnapshot
	}
	return entries, taken, nil
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
	if e.Pinned {
		flags |= flagPinned
	}
	if e.Forgotten {
		flags |= flagForgotten
	}
	if e.deleted {
		flags |= flagDeleted
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
