package table

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// gather is the read of a range of a name's items from all partitions of the range.
type gather struct {
	tableCall
	name          string
	span          Span
	after         *place.Position // the cursor: the last position that earlier pages have read; nil for the first page
	maxPartitions int             // the read stops before it queries more partitions; 0 is no maximum
	keepCopies    bool            // an item that is on two write shards is yielded twice
	drop          func(Item) bool // reports whether to skip an item; may be nil

	entry shardmap.Entry  // the name's counts
	rest  *place.Position // where the read stopped because of maxPartitions; nil if it did not
}

// gather prepares the read of a span of a name's items, and reads nothing yet. It returns ErrMisused if the table, the
// name or the cursor is invalid.
func (r tableCall) gather(name string, s Span) (*gather, error) {
	if err := cmp.Or(r.check(), observe.CheckNames(name)); err != nil {
		return nil, err
	}
	if err := r.t.nameFault(name); err != nil {
		return nil, err
	}
	g := &gather{tableCall: r, name: name, span: s}
	if s.Consistent || s.After != "" {
		g.useCurrentCounts()
	}
	if s.After == "" {
		return g, nil
	}
	position, ok := strings.CutPrefix(s.After, cursorPrefix(name, s.Desc))
	if !ok {
		return nil, fmt.Errorf("%w: Span.After %q is not from a page of this name in this direction: pass the Next of the previous page", shard.ErrMisused, s.After)
	}
	after, err := place.ParsePosition(position)
	if err != nil {
		return nil, err
	}
	g.after = &after
	g.narrow()
	return g, nil
}

// cursorPrefix returns the beginning of all cursors of a name in one direction.
func cursorPrefix(name string, desc bool) string {
	sum := sha256.Sum256(strconv.AppendBool([]byte(name+"\x00"), desc))
	return hex.EncodeToString(sum[:4]) + "."
}

// narrow begins the span at the cursor, if the cursor is within the span: at its Low, or at its High if it is read from
// high to low.
func (g *gather) narrow() {
	cursor, span := g.after.Sort, &g.span
	if span.Desc {
		if span.High == nil || dynamo.CompareValues(cursor, span.High) < 0 {
			span.High = cursor
		}
		return
	}
	if span.Low == nil || dynamo.CompareValues(cursor, span.Low) > 0 {
		span.Low = cursor
	}
}

// empty reports whether Low is above High, which DynamoDB would reject. A span without Low or High is not empty.
func (s Span) empty() bool { return dynamo.CompareValues(s.Low, s.High) > 0 }

// all yields the range's items in order. It stops at the first error, or before maxPartitions is exceeded.
func (g *gather) all(ctx context.Context) iter.Seq2[place.Stored, error] {
	return func(yield func(place.Stored, error) bool) {
		if g.span.empty() {
			return
		}
		groups, err := g.groups(ctx)
		if err != nil {
			yield(place.Stored{}, err)
			return
		}
		queried := 0
		for batch := range batches(groups) {
			if g.maxPartitions > 0 && queried > 0 && queried+len(batch) > g.maxPartitions {
				g.rest = &batch[0].before
				return
			}
			queried += len(batch)
			if !g.merge(ctx, batch, yield) {
				return
			}
		}
	}
}

// groups looks up the name's counts, and returns the range's partitions in groups: see Layout.partitions.
func (g *gather) groups(ctx context.Context) (groups iter.Seq[[]partition], err error) {
	if g.entry, err = g.lookup(ctx, g.t.Layout.countKey(g.name)); err != nil {
		return nil, err
	}
	return g.t.Layout.partitions(g.t, g.entry, g.name, g.span)
}

// batches yields the partitions of one group, then of the next two groups, of four and so on. A batch with
// dynamo.MaxParallel partitions gets no further group. So a range with many items makes few needless queries, and a
// range with few items makes few round trips.
func batches(groups iter.Seq[[]partition]) iter.Seq[[]partition] {
	return func(yield func([]partition) bool) {
		var batch []partition
		size, maxSize := 0, 1 // in groups
		for group := range groups {
			batch = append(batch, group...)
			size++
			if size < maxSize && len(batch) < dynamo.MaxParallel {
				continue
			}
			if !yield(batch) {
				return
			}
			batch, size, maxSize = nil, 0, 2*maxSize
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}

// merge yields the items of some partitions in order. Of copies of an item, it yields the one that reads prefer. It
// returns false after an error, or if the caller wants no more items.
func (g *gather) merge(ctx context.Context, parts []partition, yield func(place.Stored, error) bool) bool {
	streams := make([]*dynamo.Stream, len(parts))
	for i, p := range parts {
		streams[i] = g.stream(p, i, len(parts))
	}
	merged, err := dynamo.NewMerge(ctx, streams, g.span.Desc)
	if err != nil {
		yield(place.Stored{}, err)
		return false
	}
	merged.Ahead = g.span.Limit == 0
	if g.span.Limit > 0 {
		merged.Want = g.span.Limit + 2 // also the last item of the previous page and the first of the next
	}
	var held *place.Stored // an item that is not yet yielded, because a copy of it may follow; nil if there is none
	for {
		from := merged.NextOrder()
		it, err := merged.Next(ctx)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			yield(place.Stored{}, err)
			return false
		}
		if it == nil {
			return held == nil || yield(*held, nil)
		}
		found := g.stored(parts[from], it)
		switch {
		case !g.hasCopies():
			if !yield(found, nil) {
				return false
			}
		case held != nil && g.isCopy(*held, found):
			if g.prefers(found, *held) {
				held = &found
			}
		default:
			if held != nil && !yield(*held, nil) {
				return false
			}
			held = &found
		}
	}
}

// stream returns the stream of the range's items in a partition. order is its index among the n streams to merge.
func (g *gather) stream(p partition, order, n int) *dynamo.Stream {
	input := &dynamodb.QueryInput{
		TableName:                 &g.t.Name,
		ExpressionAttributeNames:  map[string]string{"#pk": g.t.PartitionKey},
		ExpressionAttributeValues: dynamo.Item{":pk": dynamo.String(p.pk)},
		ScanIndexForward:          aws.Bool(!g.span.Desc),
		ConsistentRead:            aws.Bool(g.span.Consistent),
	}
	if g.span.Limit > 0 {
		input.Limit = aws.Int32(dynamo.PageSize(g.span.Limit, n))
	}
	g.setKeyCondition(input, p)
	s := &dynamo.Stream{Client: g.t.Client, Input: input, SortKey: g.t.SortKey, TieBreaker: g.tieBreaker(), Order: order, Drop: g.drop}
	if g.after != nil { // then drop is nil: only readRange sets it, without a cursor
		s.Drop = func(it dynamo.Item) bool { return g.passed(g.position(p, it)) }
	}
	return s
}

// setKeyCondition makes a query read only the span's sort keys.
func (g *gather) setKeyCondition(in *dynamodb.QueryInput, p partition) {
	condition := "#pk = :pk"
	low, high := withPrefix(p.prefix, g.span.Low), withPrefix(p.prefix, g.span.High)
	switch {
	case low != nil && high != nil:
		condition += " AND #sk BETWEEN :low AND :high"
	case low != nil:
		condition += " AND #sk >= :low"
	case high != nil:
		condition += " AND #sk <= :high"
	}
	if low != nil || high != nil {
		in.ExpressionAttributeNames["#sk"] = g.t.SortKey
	}
	if low != nil {
		in.ExpressionAttributeValues[":low"] = low
	}
	if high != nil {
		in.ExpressionAttributeValues[":high"] = high
	}
	in.KeyConditionExpression = &condition
}

// withPrefix returns a bound of the stored sort keys, which begin with the prefix if they are text. A nil bound stays nil.
func withPrefix(prefix string, bound types.AttributeValue) types.AttributeValue {
	if text, ok := bound.(*types.AttributeValueMemberS); ok {
		return dynamo.String(prefix + text.Value)
	}
	return bound
}

// position returns an item's position by the caller's sort key, without the stored prefix.
func (g *gather) position(p partition, it dynamo.Item) place.Position {
	at := place.Position{Sort: it[g.t.SortKey], Tie: dynamo.TieValue(it, g.tieBreaker()), Shard: p.shard}
	if p.prefix != "" {
		at.Sort = dynamo.String(strings.TrimPrefix(dynamo.Text(it, g.t.SortKey), p.prefix))
	}
	return at
}
