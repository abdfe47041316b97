package ddb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// ErrInUse means that a key's shard count was set again; use errors.Is.
var ErrInUse = errors.New("the shard count was set again")

// Reset takes a base key back to where it was before its first change: one write
// shard at every time, not pinned. It is for a key whose items are being deleted,
// and the first of two steps.
//
// What was written before can't be found by the count any more. Processes go by the
// reset within [ViewAge], of counters and boards within [CountAge] where they can't
// read the map; and requests that had begun before go on as long as they
// last. What they write goes to the old write shards. So the caller waits for that,
// deletes what is on any write shard up to the entry's Most, which a reset keeps,
// and then calls Forget. It is ErrNoChange for a key that has nothing to reset; the
// entry tells one that was reset before, which has a Version, from one that is not in
// the map.
func (c *MapChanger) Reset(ctx context.Context, key string, now time.Time) (Entry, error) {
	return c.change(ctx, key, now, func(e Entry, now time.Time) (Entry, error) {
		if len(e.History) == 0 && !e.Pinned {
			return e, ErrNoChange
		}
		return Entry{Key: key, Max: e.Most(), Version: e.Version + 1, Updated: now.Truncate(time.Second).UTC()}, nil
	})
}

// Forget removes a key that was reset from the map, and its changes from the log: the
// second step. Nothing of the key's name stays. It is ErrInUse when the key was not
// reset or has changed since, and ErrNoChange when it is not in the map.
//
// The log's items stay in their places without a key, so that views are brought up as
// always. A further one has 16 bits of the key's CRC-32, which thousands of names
// share: every process then reads the items anew of those keys that it holds and that
// the bits may mean, mostly one, so that versions can start over. Processes that share
// a map must all know of that. A call that was killed in between may be made again.
func (c *MapChanger) Forget(ctx context.Context, key string, now time.Time) error {
	begin := time.Now()
	entry, err := c.Read(ctx, key)
	switch {
	case err != nil:
		return describeForget(key, Kind(err))
	case len(entry.History) > 0 || entry.Pinned:
		return describeForget(key, ErrInUse)
	case entry.Version == 0:
		return describeForget(key, ErrNoChange)
	}
	changes, err := c.changes(ctx, key)
	if err != nil {
		return describeForget(key, Kind(err))
	}
	// The newest says that the key was reset, and goes with the deletion itself: a view
	// that has not read it yet reads either.
	for len(changes) > 1 {
		if err := c.blank(ctx, key, changes[0]); err != nil {
			return describeForget(key, Kind(err))
		}
		changes = changes[1:]
	}
	return describeForget(key, c.remove(ctx, entry, changes, func() time.Time { return now.Add(since(begin)) }))
}

func describeForget(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("removing %q from the shard map: %w", key, err)
}

// changes lists the numbers of a key's changes in the log, the newest last. The log is
// scanned: it has 10,000 items at the most.
func (c *MapChanger) changes(ctx context.Context, key string) (list []int64, err error) {
	input := &dynamodb.ScanInput{
		TableName: &c.table, ConsistentRead: aws.Bool(true),
		FilterExpression: aws.String("#key = :key"), ProjectionExpression: aws.String("pk"),
		ExpressionAttributeNames:  map[string]string{"#key": attrKey},
		ExpressionAttributeValues: item{":key": &types.AttributeValueMemberS{Value: key}},
	}
	for {
		var out *dynamodb.ScanOutput
		err := persist(ctx, func(ctx context.Context) (err error) {
			out, err = c.client.Scan(ctx, input, once)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, it := range out.Items {
			if seq, ok := logNumber(text(it, schema.PK)); ok {
				list = append(list, seq)
			}
		}
		if input.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			slices.Sort(list)
			return list, nil
		}
	}
}

// blank takes what a change says out of the log, and leaves its place.
func (c *MapChanger) blank(ctx context.Context, key string, seq int64) error {
	return persist(ctx, func(ctx context.Context) error {
		_, err := c.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
			TransactItems: []types.TransactWriteItem{{Put: c.blanked(key, seq)}},
		}, once)
		if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok && hasReason(canceled, "ConditionalCheckFailed") {
			return nil // the log has let go of it
		}
		return err
	})
}

func (c *MapChanger) blanked(key string, seq int64) *types.Put {
	return &types.Put{
		TableName: &c.table, Item: logKey(seq), ConditionExpression: aws.String("#key = :key"),
		ExpressionAttributeNames:  map[string]string{"#key": attrKey},
		ExpressionAttributeValues: item{":key": &types.AttributeValueMemberS{Value: key}},
	}
}

// maxRemovals bounds how often another change of the map may come first.
const maxRemovals = 20

// remove deletes a key's item and says so in the log, on condition that the item is
// as it was read. It says when by each attempt's own time: what comes before may take
// minutes, and a load takes a deletion from long before its begin for old.
func (c *MapChanger) remove(ctx context.Context, entry Entry, changes []int64, clock func() time.Time) error {
	for range maxRemovals {
		seq, err := c.latest(ctx, clock())
		if err != nil {
			return Kind(err)
		}
		err = c.append(ctx, seq+1, deletionOf(entry.Key, clock()), c.removal(entry, changes, seq+1)...)
		if err == nil || !contended(err) {
			return Kind(err)
		}
		if found, err := c.Read(ctx, entry.Key); err != nil || found.Version != entry.Version {
			return errors.Join(Kind(err), ErrInUse)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
		case <-time.After(rand.N(100 * time.Millisecond)):
		}
	}
	return fmt.Errorf("%w: other changes came first %d times", ErrUnavailable, maxRemovals)
}

func (c *MapChanger) removal(entry Entry, changes []int64, seq int64) []types.TransactWriteItem {
	gone := &types.Delete{TableName: &c.table, Key: item{schema.PK: &types.AttributeValueMemberS{Value: entry.Key}}}
	gone.ConditionExpression, gone.ExpressionAttributeValues = unchanged(entry)
	actions := []types.TransactWriteItem{{Delete: gone}}
	for _, change := range changes {
		if change > seq-keptChanges { // else the log lets go of it now
			actions = append(actions, types.TransactWriteItem{Put: c.blanked(entry.Key, change)})
		}
	}
	return actions
}

// deletionOf is the log's item that says that a key was deleted.
func deletionOf(key string, now time.Time) item {
	return item{
		attrDeletion: &types.AttributeValueMemberBOOL{Value: true}, attrHint: number(hint(key)),
		attrUpdated: number(now.Unix()),
	}
}

// deleted returns the hint at the key that a log item says was deleted; ok is false
// for items of other kinds.
func deleted(it item) (hint int64, ok bool) {
	is, _ := it[attrDeletion].(*types.AttributeValueMemberBOOL)
	hint, err := integer(it, attrHint)
	return hint, is != nil && is.Value && it[attrHint] != nil && err == nil
}
