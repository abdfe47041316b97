package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// partly is a client that writes a third of each batch and throttles all other writes.
type partly struct{ libtest.Scripted }

func (*partly) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	asked := in.RequestItems["items"]
	return &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{"items": asked[len(asked)/3:]}}, nil
}

// writeOf returns a put of an event with this key.
func writeOf(pk, sk string) shardmap.Write {
	return shardmap.Write{Action: types.TransactWriteItem{Put: &types.Put{Item: dynamo.Key(pk, sk)}}, Attempt: shard.Attempt{Key: "E#e"}}
}

// TestEveryItemOfBatchIsObserved checks that each item is observed once. Unprocessed items are observed as throttled if a
// single put shows that their partition throttles, and otherwise as inconclusive.
func TestEveryItemOfBatchIsObserved(t *testing.T) {
	full := &types.ProvisionedThroughputExceededException{ThrottlingReasons: []types.ThrottlingReason{{Reason: aws.String("TableWriteKeyRangeThroughputExceeded")}}}
	account := &types.ProvisionedThroughputExceededException{ThrottlingReasons: []types.ThrottlingReason{{Reason: aws.String("TableWriteAccountLimitExceeded")}}}
	for name, c := range map[string]struct {
		single    error // of a single put
		throttled int
	}{"the partition's limit": {full, 16}, "another limit": {account, 0}} {
		w := &libtest.Listener{}
		b := newWriteBatch(NewWriter(&partly{libtest.Scripted{Probe: c.single}}, "items", nil, Options{Observer: w}), libtest.Epoch)
		for i := range 24 {
			b.addWrite(Event{}, writeOf("E#e#2026-11-22#0", fmt.Sprint("2026-11-22T10:00:00.000Z#", i)), i)
		}
		left, _ := b.attempt(t.Context(), b.items)
		seen := map[shard.Outcome]int{}
		for _, outcome := range w.Outcomes("E#e") {
			seen[outcome]++
		}
		if len(left) != 16 || seen[shard.Accepted] != 8 || seen[shard.Throttled] != c.throttled || w.All != 24 {
			t.Errorf("%s: %d items are left, observed %v; want 16 left, 8 accepted, %d throttled", name, len(left), seen, c.throttled)
		}
	}
}

// nameless is a client that processes no item of a batch, and says so by the name of the table.
type nameless struct{ partly }

func (n *nameless) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	return &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{"events": dynamo.OnlyTable(in.RequestItems)}}, nil
}

// TestUnprocessedByARN checks that unprocessed items are not lost if the engine answers a table's ARN with its name.
func TestUnprocessedByARN(t *testing.T) {
	w, full := &libtest.Listener{}, &types.ThrottlingException{ThrottlingReasons: []types.ThrottlingReason{{Reason: aws.String("TableWriteKeyRangeThroughputExceeded")}}}
	client := &nameless{partly{libtest.Scripted{Probe: full}}}
	b := newWriteBatch(NewWriter(client, "arn:aws:dynamodb:eu-west-1:123456789012:table/events", nil, Options{Observer: w}), libtest.Epoch)
	for i := range 3 {
		b.addWrite(Event{}, writeOf("E#e#2026-11-22#0", fmt.Sprint("2026-11-22T10:00:00.000Z#", i)), i)
	}
	if left, err := b.attempt(t.Context(), b.items); len(left) != 3 || !errors.Is(err, shard.ErrThrottled) {
		t.Errorf("%d items are left, %v", len(left), err)
	}
}

// lossy is a client that processes no item of a batch. Its first single put has an ambiguous result, and the others
// conflict with a transaction.
type lossy struct {
	partly
	puts int
}

func (l *lossy) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	return &dynamodb.BatchWriteItemOutput{UnprocessedItems: in.RequestItems}, nil
}

func (l *lossy) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if l.puts++; l.puts == 1 {
		return nil, &types.InternalServerError{}
	}
	return nil, &types.TransactionConflictException{}
}

// TestAmbiguousResultIsNotObservedAsConflict checks that an item with an ambiguous result is observed as inconclusive, even
// if later items of its batch conflict.
func TestAmbiguousResultIsNotObservedAsConflict(t *testing.T) {
	w := &libtest.Listener{}
	b := newWriteBatch(NewWriter(&lossy{}, "items", nil, Options{Observer: w}), libtest.Epoch)
	for i := range 3 {
		b.addWrite(Event{}, writeOf(fmt.Sprint("E#e#2026-11-22#", i), "2026-11-22T10:00:00.000Z#a"), i)
	}
	left, err := b.attempt(t.Context(), b.items)
	if len(left) != 3 || w.All != 3 || dynamo.IsConflict(err) || !errors.Is(dynamo.Classify(err), shard.ErrUnavailable) {
		t.Errorf("%d items are left and %d observed, error %v; want 3, 3 and ErrUnavailable", len(left), w.All, err)
	}
}

// TestUnansweredBatchIsObservedAsInconclusive checks that all items stay after a batch with an unknown outcome, and that
// each is observed once, as inconclusive.
func TestUnansweredBatchIsObservedAsInconclusive(t *testing.T) {
	w := &libtest.Listener{}
	b := newWriteBatch(NewWriter(&lossy{}, "items", nil, Options{Observer: w}), libtest.Epoch)
	for i := range 3 {
		b.addWrite(Event{}, writeOf("E#e#2026-11-22#0", fmt.Sprint("2026-11-22T10:00:00.000Z#", i)), i)
	}
	left, err := b.writeSingly(t.Context(), b.items, libtest.LostAnswer{})
	if len(left) != 3 || err == nil || w.All != 3 || len(w.Outcomes("E#e")) > 0 || slices.ContainsFunc(left, func(it *batchItem) bool { return !it.keepsShard }) {
		t.Errorf("%d items are left, %d observed, %v", len(left), w.All, err)
	}
}

// refusing is a client that throttles batches, and writes single items.
type refusing struct{ libtest.Scripted }

func (*refusing) BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	return nil, libtest.Hot()
}

func (*refusing) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, nil
}

// TestThrottledBatchIsWrittenSingly checks that nothing is left, and no error, once one item of each partition was written
// and there are no others.
func TestThrottledBatchIsWrittenSingly(t *testing.T) {
	for partitions, want := range map[int]int{1: 2, 3: 0, 4: 0, 6: 2} {
		b := newWriteBatch(NewWriter(&refusing{}, "items", nil, Options{}), libtest.Epoch)
		for i := range max(partitions, 3) {
			b.addWrite(Event{}, writeOf(fmt.Sprint("E#e#2026-11-22#", i%partitions), fmt.Sprint("2026-11-22T10:00:00.000Z#", i)), i)
		}
		if left, err := b.attempt(t.Context(), b.items); len(left) != want || (err == nil) != (want == 0) {
			t.Errorf("%d partitions: %d items are left, %v; want %d", partitions, len(left), err, want)
		}
	}
}

// TestStoredEventsAreCompared checks that an event which was replaced once is equal to the one to put but for its rev.
func TestStoredEventsAreCompared(t *testing.T) {
	it := dynamo.Item{"data": dynamo.String("x")}
	for _, row := range []struct {
		stored dynamo.Item
		want   bool
	}{
		{dynamo.Item{"data": dynamo.String("x")}, true},
		{dynamo.Item{"data": dynamo.String("x"), attrRev: dynamo.Number(3)}, true},
		{dynamo.Item{"data": dynamo.String("y"), attrRev: dynamo.Number(3)}, false},
		{dynamo.Item{"data": dynamo.String("x"), "expires_at": dynamo.Number(3)}, false},
		{dynamo.Item{attrRev: dynamo.Number(3)}, false},
	} {
		if isSameEvent(row.stored, it) != row.want {
			t.Errorf("%v has all of %v: want %t", row.stored, it, row.want)
		}
	}
	if put, err := replacement(dynamo.Item{attrRev: dynamo.Number(3)}, it); err != nil || dynamo.Digits(put.Item, attrRev) != "4" {
		t.Errorf("in place of an event with rev 3: %+v, %v", put, err)
	}
	same := writeOf("E#e#0", "x").Action.Put.Item
	same[attrRev] = dynamo.Number(3)
	equal := newWriteBatch(NewWriter(&partly{libtest.Scripted{Probe: &types.ConditionalCheckFailedException{Item: same}}}, "items", nil, Options{}), libtest.Epoch)
	equal.addWrite(Event{}, writeOf("E#e#0", "x"), 0)
	if err := equal.putItem(t.Context(), equal.items[0]); err != nil {
		t.Errorf("an event that is stored: %v", err)
	}
	broken := &types.ConditionalCheckFailedException{Item: dynamo.Item{attrRev: dynamo.String("x")}}
	b := newWriteBatch(NewWriter(&partly{libtest.Scripted{Probe: broken}}, "items", nil, Options{}), libtest.Epoch)
	b.addWrite(Event{}, writeOf("E#e#0", "x"), 0)
	if err := b.putItem(t.Context(), b.items[0]); err == nil || errors.Is(err, dynamo.ErrOutrun) {
		t.Errorf("in place of an event whose rev is no number: %v", err)
	}
}

// growing is a client whose first attempt fails, or leaves all items unprocessed. Meanwhile N grows to 24. It records where
// the items of all attempts are.
type growing struct {
	libtest.Scripted
	first   error
	changer *shardmap.Changer
	places  []string
}

func (g *growing) try(ctx context.Context, items ...dynamo.Item) error {
	for _, it := range items {
		g.places = append(g.places, dynamo.Text(it, "pk"))
	}
	if g.first == nil {
		return nil
	}
	if e, err := g.changer.Current(ctx, "E#e"); err == nil && e.Version == 0 {
		_, _ = g.changer.Pin(ctx, "E#e", 24, shardmap.Note{}, time.Now())
		return g.first
	}
	return nil
}

func (g *growing) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, g.try(ctx, in.Item)
}

func (g *growing) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	var items []dynamo.Item
	for _, r := range in.RequestItems["items"] {
		items = append(items, r.PutRequest.Item)
	}
	err := g.try(ctx, items...)
	if errors.Is(err, errUnprocessed) {
		return &dynamodb.BatchWriteItemOutput{UnprocessedItems: in.RequestItems}, nil
	}
	return &dynamodb.BatchWriteItemOutput{}, err
}

var errUnprocessed = errors.New("left unprocessed")

// TestOnlyThrottledNewEventsMove checks that an event moves to another write shard only if it is new, and every attempt
// before was certainly throttled.
func TestOnlyThrottledNewEventsMove(t *testing.T) {
	full := &types.ProvisionedThroughputExceededException{ThrottlingReasons: []types.ThrottlingReason{{Reason: aws.String("TableWriteKeyRangeThroughputExceeded")}}}
	for name, c := range map[string]struct {
		events int
		isNew  bool
		first  error
		moves  bool
	}{
		"accepted":                    {1, true, nil, false},
		"throttled":                   {1, true, full, true},
		"throttled, named":            {1, false, full, false},
		"an ambiguous result":         {1, true, &types.InternalServerError{}, false},
		"a conflict":                  {1, true, &types.TransactionConflictException{}, false},
		"a throttled batch":           {3, true, full, true},
		"a throttled batch, named":    {3, false, full, false},
		"an ambiguous batch":          {3, true, &types.InternalServerError{}, false},
		"a batch left unprocessed":    {3, true, errUnprocessed, false},
		"named, and left unprocessed": {3, false, errUnprocessed, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := enginetest.NewMapTable(10, 0, 0)
			view := shardmap.New(f, "m", shardmap.Options{})
			client := &growing{first: c.first, changer: shardmap.NewChanger(f, view, shardmap.ChangerOptions{})}
			list := make([]Event, c.events)
			for i := range list {
				list[i] = Event{Entity: "e", ID: string("cde"[i]), Time: time.Now(), New: c.isNew} // not on write shard 0 of 24
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if err := errors.Join(NewWriter(client, "items", view, Options{}).Put(ctx, list, time.Now())...); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			stay := c.events // the first attempt's, and a throttled batch's single put
			if stay > 1 {
				stay++
			}
			for i, pk := range client.places {
				if moved := !strings.HasSuffix(pk, "#0"); moved != (c.moves && i >= stay) {
					t.Errorf("%s: attempt %d is at %s; want it moved: %t", name, i, pk, c.moves)
				}
			}
		})
	}
}
