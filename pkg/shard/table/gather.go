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

// gather reads a range of a name's items from all partitions of the range.
type gather struct {
	raw
	name  string
	span  Span
	after *place.Position // exclusive
	most  int             // the maximum of partitions to read; 0 is no maximum
	twice bool            // yields an item on two write shards twice
	drop  func(Item) bool // reports whether to skip an item; may be nil

	entry shardmap.Entry  // the name's counts
	rest  *place.Position // where the read stopped at the maximum; nil if it did not
}

func (r raw) gather(name string, s Span) (*gather, error) {
	if err := cmp.Or(r.check(), observe.CheckNames(name)); err != nil {
		return nil, err
	}
	if err := r.t.nameFault(name); err != nil {
		return nil, err
	}
	g := &gather{raw: r, name: name, span: s}
	if s.Consistent || s.After != "" {
		g.readCurrent()
	}
	if s.After == "" {
		return g, nil
	}
	position, ours := strings.CutPrefix(s.After, cursorOf(name, s.Desc))
	after, err := place.ParsePosition(position)
	if err != nil {
		return nil, err
	}
	if !ours {
		return nil, fmt.Errorf("%w: Span.After belongs to another name or direction", shard.ErrMisused)
	}
	g.after = &after
	g.narrow()
	return g, nil
}

// cursorOf returns the prefix of the cursors of a name in one direction.
func cursorOf(name string, desc bool) string {
	sum := sha256.Sum256(strconv.AppendBool([]byte(name+"\x00"), desc))
	return hex.EncodeToString(sum[:4]) + "."
}

// narrow moves the span's start to the cursor.
func (g *gather) narrow() {
	switch sort := g.after.Sort; {
	case g.span.Desc && (g.span.High == nil || dynamo.CompareValues(sort, g.span.High) < 0):
		g.span.High = sort
	case !g.span.Desc && (g.span.Low == nil || dynamo.CompareValues(sort, g.span.Low) > 0):
		g.span.Low = sort
	}
}

// empty reports whether no key lies in the span; DynamoDB rejects such a condition. A missing end compares as equal.
func (s Span) empty() bool { return dynamo.CompareValues(s.Low, s.High) > 0 }

// all yields the range's items in order. It stops at the first error.
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
		opened := 0
		for batch := range batches(groups) {
			if g.most > 0 && opened > 0 && opened+len(batch) > g.most {
				g.rest = &batch[0].edge
				return
			}
			opened += len(batch)
			if !g.merge(ctx, batch, yield) {
				return
			}
		}
	}
}

// groups looks up the name's counts, and returns the range's partitions.
func (g *gather) groups(ctx context.Context) (groups iter.Seq[[]partition], err error) {
	if g.entry, err = g.lookup(ctx, g.t.Layout.countKey(g.name)); err != nil {
		return nil, err
	}
	return g.t.Layout.partitions(g.t, g.entry, g.name, g.span)
}

// batches combines one group, then two, four and so on: a dense range makes few needless
// queries, and a sparse one few round trips.
func batches(groups iter.Seq[[]partition]) iter.Seq[[]partition] {
	return func(yield func([]partition) bool) {
		var batch []partition
		want, have := 1, 0
		for group := range groups {
			batch = append(batch, group...)
			if have++; have < want && len(batch) < dynamo.MaxParallel {
				continue
			}
			if !yield(batch) {
				return
			}
			batch, have, want = nil, 0, 2*want
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}

// merge yields the items of some partitions in order, and reports whether to continue.
func (g *gather) merge(ctx context.Context, parts []partition, yield func(place.Stored, error) bool) bool {
	streams := make([]*dynamo.Stream, len(parts))
	for i, p := range parts {
		streams[i] = g.stream(p, len(parts), i)
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
	var last *place.Stored // not yet yielded, since a copy of it may follow; nil if there is none
	for {
		from := merged.NextOrder()
		it, err := merged.Next(ctx)
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			yield(place.Stored{}, err)
			return false
		case it == nil:
			return last == nil || yield(*last, nil)
		}
		s := g.stored(parts[from], it)
		switch {
		case !g.hasCopies():
			if !yield(s, nil) {
				return false
			}
		case last == nil:
			last = &s
		case !g.repeats(*last, s):
			if !yield(*last, nil) {
				return false
			}
			last = &s
		case g.prefers(s, *last):
			last = &s
		}
	}
}

// stream reads the range's items of a partition, one of n.
func (g *gather) stream(p partition, n, order int) *dynamo.Stream {
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
	g.condition(input, p)
	s := &dynamo.Stream{Client: g.t.Client, Input: input, Sort: g.t.SortKey, TieBreaker: g.tieBreaker(), Order: order}
	s.Drop = g.drop
	if g.after != nil {
		s.Drop = func(it dynamo.Item) bool { return g.passed(g.place(p, it)) }
	}
	return s
}

// condition sets the key condition to the span's sort keys.
func (g *gather) condition(in *dynamodb.QueryInput, p partition) {
	condition := "#pk = :pk"
	low, high := prefixed(p.prefix, g.span.Low), prefixed(p.prefix, g.span.High)
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

func prefixed(prefix string, bound types.AttributeValue) types.AttributeValue {
	if text, ok := bound.(*types.AttributeValueMemberS); ok {
		return dynamo.String(prefix + text.Value)
	}
	return bound
}

// place returns an item's position by the caller's sort key, without the stored prefix.
func (g *gather) place(p partition, it dynamo.Item) place.Position {
	at := place.Position{Sort: it[g.t.SortKey], Tie: dynamo.TieValue(it, g.tieBreaker()), Shard: p.shard}
	if p.prefix != "" {
		at.Sort = dynamo.String(strings.TrimPrefix(dynamo.Text(it, g.t.SortKey), p.prefix))
	}
	return at
}
