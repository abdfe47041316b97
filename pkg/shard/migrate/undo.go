package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/ownkeys"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Undo moves the items of a PlainFirst table's names back to their plain keys, while programs read and write. With time
// buckets it scans the table twice to find the name's buckets.
//
//	for {
//		done, err := undo.Step(ctx, "acme", time.Now())
//		if err != nil || done.Wait.IsZero() {
//			return err
//		}
//		time.Sleep(time.Until(done.Wait))
//	}
type Undo struct {
	Client  Client
	Table   *table.Table      // with PlainFirst, and a map in Shards
	Changer *shardmap.Changer // of that map
	By      string            // who changed the count, in the shard map's notes; default "undo"
	Scanner client.Scanner    // scans the table; required with TimeBuckets

	// Pace is called before each item is moved, with the write units that this costs; may be nil.
	Pace func(ctx context.Context, writeUnits int) error
	// PaceScan is called after each page of a scan, with the read units that it cost; may be nil.
	PaceScan func(ctx context.Context, read *types.ConsumedCapacity) error
	// Report is called after each hundred moved items; may be nil.
	Report func(moved int)
}

// Undone is the result of a step.
type Undone struct {
	Wait  time.Time // when to call Step again; zero if the name is done
	Why   string    // what is waited for
	Moved int       // items that this step moved
}

// Step does what can be done of a name now. A program that ends between two steps, or within one, can begin again: nothing
// is lost or doubled. It sets the count to 1, after which it takes about six minutes until all programs write to the plain
// key. Then it moves the items, each in a transaction, and removes the name from the shard map.
//
// If another item has the plain key and the sort key, the moved one is kept where it is, and Step returns ErrMisused after
// it has moved the others. For a layout that finds items, an item under the plain key with the same identity was put there
// later, and replaces the moved one. An attribute that an Update adds to an item in the moment in which it is moved may be
// lost, and a range that is read in that moment may miss the item, or repeat it under a RandomSuffix.
func (u *Undo) Step(ctx context.Context, name string, now time.Time) (Undone, error) {
	if err := u.fault(now); err != nil {
		return Undone{}, err
	}
	done, err := u.undoName(ctx, name, now)
	if err != nil {
		return done, describe(u.Table, "undoing the write shards of", name, err)
	}
	return done, nil
}

func (u *Undo) fault(now time.Time) error {
	if u.Client == nil || u.Table == nil || u.Changer == nil {
		return fmt.Errorf("%w: an Undo needs Client, Table and Changer", shard.ErrMisused)
	}
	if err := cmp.Or(dynamo.CheckNow(now), u.Table.Check()); err != nil {
		return err
	}
	_, buckets := u.Table.Layout.(table.TimeBuckets)
	switch {
	case !u.Table.PlainFirst:
		return fmt.Errorf("%w: an Undo is for a Table with PlainFirst", shard.ErrMisused)
	case buckets && dynamo.CheckClient(u.Scanner) != nil:
		return fmt.Errorf("%w: an Undo of time buckets needs Scanner", shard.ErrMisused)
	}
	return nil
}

func (u *Undo) undoName(ctx context.Context, name string, now time.Time) (Undone, error) {
	clock := dynamo.StartClock(now) // the moves take long
	view, err := u.Table.Shards.Lookup(ctx, name, now)
	if err != nil {
		return Undone{}, err
	}
	key := cmp.Or(view.Key, name)
	e, err := u.Changer.Read(ctx, key)
	switch {
	case err != nil:
		return Undone{}, err
	case e.Most() == 1:
		return Undone{}, nil // it never had another write shard
	case e.Forgotten && len(e.History) == 0: // reset, by an earlier run
		return u.forget(ctx, name, key, e, now)
	case e.Flat():
	case !e.Pinned || e.History.Newest() != 1:
		e, err = u.Changer.Pin(ctx, key, 1, shardmap.Note{By: cmp.Or(u.By, "undo"), Why: "its items are moved to the plain key"}, now)
		return Undone{Wait: e.Effective().Add(shardmap.Margin), Why: "one write shard is in force"}, err
	case e.Effective().Add(shardmap.Margin).After(now):
		return Undone{Wait: e.Effective().Add(shardmap.Margin), Why: "one write shard is in force"}, nil
	default:
		if e, err = u.Changer.Flatten(ctx, key, now); err != nil && !errors.Is(err, shardmap.ErrNoChange) {
			return Undone{}, err
		}
	}
	if until := e.Updated.Add(shardmap.LateMargin); until.After(now) {
		return Undone{Wait: until, Why: "all programs write to the plain key"}, nil
	}
	done, err := u.moveAll(ctx, name, e, now)
	if err != nil {
		return done, err
	}
	if e, err = u.Changer.Reset(ctx, key, clock.Now()); err != nil {
		return done, err
	}
	last, err := u.forget(ctx, name, key, e, clock.Now())
	last.Moved += done.Moved
	return last, err
}

// forget removes a name from the map that was reset, after a last look at its write shards.
func (u *Undo) forget(ctx context.Context, name, key string, e shardmap.Entry, now time.Time) (Undone, error) {
	clock := dynamo.StartClock(now)
	done, err := u.moveAll(ctx, name, e, now)
	if err != nil {
		return done, err
	}
	return done, u.Changer.Forget(ctx, key, clock.Now())
}

// errTaken means that another item has the plain key and the sort key.
var errTaken = errors.New("another item has its plain key")

// moveAll moves the items of all write shards to the plain key.
func (u *Undo) moveAll(ctx context.Context, name string, e shardmap.Entry, now time.Time) (done Undone, err error) {
	t := u.Table
	m := mover{u, side{t, place.OpenTable(t, now)}, name}
	taken, first := 0, ""
	for it, err := range m.misplaced(ctx, e) {
		if err != nil {
			return done, err
		}
		at := place.Place{PK: dynamo.Text(it, t.PartitionKey), Sort: it[t.SortKey]}
		switch err := m.moveItem(ctx, at, it); {
		case errors.Is(err, errTaken):
			if taken++; taken == 1 {
				first = fmt.Sprintf("%s under %s", place.SortText(at.Sort), at.PK)
			}
		case err != nil:
			return done, err
		default:
			if done.Moved++; u.Report != nil && done.Moved%100 == 0 {
				u.Report(done.Moved)
			}
		}
	}
	if taken > 0 {
		return done, fmt.Errorf("%w: the plain key has other items with the sort keys of %d items, the first %s: delete one of each, and repeat", shard.ErrMisused, taken, first)
	}
	return done, nil
}

// mover moves the items of a name.
type mover struct {
	*Undo
	side
	name string
}

// misplaced yields the name's items that don't have a plain key.
func (m mover) misplaced(ctx context.Context, e shardmap.Entry) iter.Seq2[table.Item, error] {
	if b, is := m.Layout.(table.TimeBuckets); is {
		return m.scan(ctx, e, ownkeys.Keys{Format: m.Format, Bucket: b.Bucket})
	}
	return func(yield func(table.Item, error) bool) {
		for n := 1; n < e.Most(); n++ {
			for it, err := range dynamo.Items(ctx, dynamo.Persistent(m.side.Client), m.query(m.Format.JoinPlain(m.name, n))) {
				if !yield(it, err) {
					return
				}
			}
		}
	}
}

// scan yields the items of the name's write shards above 0 in all time buckets.
func (m mover) scan(ctx context.Context, e shardmap.Entry, keys ownkeys.Keys) iter.Seq2[table.Item, error] {
	in := &dynamodb.ScanInput{
		TableName: &m.side.Name, ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		FilterExpression: aws.String("begins_with(#pk, :name)"), ExpressionAttributeNames: map[string]string{"#pk": m.PartitionKey},
		ExpressionAttributeValues: table.Item{":name": dynamo.String(m.name + m.Format.Separator())},
	}
	return func(yield func(table.Item, error) bool) {
		for page, err := range dynamo.ScanPages(ctx, m.Scanner, in) {
			if err == nil && m.PaceScan != nil {
				err = m.PaceScan(ctx, page.ConsumedCapacity)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, it := range page.Items {
				name, _, n, ok := keys.Split(dynamo.Text(it, m.PartitionKey))
				if ok && name == m.name && n > 0 && n < e.Most() && !yield(it, nil) {
					return
				}
			}
		}
	}
}

func (m mover) query(pk string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: &m.side.Name, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("#pk = :pk"),
		ExpressionAttributeNames: map[string]string{"#pk": m.PartitionKey}, ExpressionAttributeValues: table.Item{":pk": dynamo.String(pk)},
	}
}

// maxMoves bounds the attempts to move an item that others change.
const maxMoves = 20

// moveItem moves an item from a write shard to the plain key. It returns errTaken if another item is there.
func (m mover) moveItem(ctx context.Context, from place.Place, it table.Item) error {
	key, _ := m.Format.SplitPlain(from.PK)
	plain := place.Place{PK: key, Sort: from.Sort}
	p := pair{c: &call{Migration: &Migration{Client: m.Client}}, truth: m.side, other: m.side, at: from, otherAt: plain}
	for range maxMoves {
		if m.Pace != nil {
			if err := m.Pace(ctx, writeUnits(it)); err != nil {
				return err
			}
		}
		check, err := unchanged(m.side, from, it, nil)
		if err != nil {
			return err
		}
		put := m.raw.Put(it, plain, nil)
		put.ConditionExpression, put.ExpressionAttributeNames = aws.String("attribute_not_exists(#hotshard)"), map[string]string{"#hotshard": m.PartitionKey}
		err = transact(ctx, m.Client, types.TransactWriteItem{Put: put}, types.TransactWriteItem{Delete: deleteIf(check)})
		if len(dynamo.FailedConditions(err)) == 0 {
			return err
		}
		left, there, err := p.stored(ctx)
		switch {
		case err != nil || left == nil: // moved by this attempt or another run, or deleted
			return err
		case there == nil:
			it = left
			continue
		case !equal(m.side, left, there) && !(m.raw.Findable() && m.raw.Identity(left).Matches(there)):
			return errTaken
		}
		if check, err = unchanged(m.side, from, left, nil); err != nil {
			return err
		}
		err = transact(ctx, m.Client, types.TransactWriteItem{Delete: deleteIf(check)}, types.TransactWriteItem{ConditionCheck: m.holds(plain)})
		if len(dynamo.FailedConditions(err)) == 0 {
			return err
		}
		it = left
	}
	return fmt.Errorf("%w: the item %s of %s is changed all the time", shard.ErrContended, place.SortText(from.Sort), from.PK)
}

// holds returns the condition that a place has an item.
func (m mover) holds(at place.Place) *types.ConditionCheck {
	g := place.Identity(nil).Present(m.PartitionKey)
	return &types.ConditionCheck{TableName: &m.side.Name, Key: m.raw.Key(at), ConditionExpression: g.Condition, ExpressionAttributeNames: g.Names}
}

// deleteIf returns the delete with a check's condition.
func deleteIf(c *types.ConditionCheck) *types.Delete {
	return &types.Delete{
		TableName: c.TableName, Key: c.Key, ConditionExpression: c.ConditionExpression,
		ExpressionAttributeNames: c.ExpressionAttributeNames, ExpressionAttributeValues: c.ExpressionAttributeValues,
	}
}

// writeUnits returns what a move costs: a put and a delete, each twice the units of its size in a transaction.
func writeUnits(it table.Item) int { return 4 * max(1, (dynamo.Size(it)+1023)/1024) }
