package table

import (
	"context"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/place"
)

// gather reads a range of a name's items from all the partitions that hold it.
type gather struct {
	Raw
	name  string
	span  Span
	after *place.Position // exclusive
	most  int             // partitions to read at most; 0 is no bound

	rest *place.Position // where it went on when most was reached
}

// Stored is an item with where it was read.
type Stored struct {
	Item Item // as callers see it
	At   place.Position
	PK   string
	Sort types.AttributeValue // as stored
}

func (r Raw) gather(name string, s Span) (*gather, error) {
	if err := r.t.Check(); err != nil {
		return nil, err
	}
	g := &gather{Raw: r, name: name, span: s}
	if s.After == "" {
		return g, nil
	}
	after, err := place.ParsePosition(s.After)
	if err != nil {
		return nil, err
	}
	g.after = &after
	g.narrow()
	return g, nil
}

// narrow takes from the span what lies before the position.
func (g *gather) narrow() {
	switch sort := g.after.Sort; {
	case g.span.Desc && (g.span.High == nil || dynamo.CompareValues(sort, g.span.High) < 0):
		g.span.High = sort
	case !g.span.Desc && (g.span.Low == nil || dynamo.CompareValues(sort, g.span.Low) > 0):
		g.span.Low = sort
	}
}

// empty tells whether the span's ends leave nothing: DynamoDB refuses to be asked.
func (s Span) empty() bool {
	return s.Low != nil && s.High != nil && dynamo.CompareValues(s.Low, s.High) > 0
}

// all yields the range's items in order. It ends with the first error.
func (g *gather) all(ctx context.Context) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		if g.span.empty() {
			return
		}
		groups, err := g.t.Layout.partitions(ctx, g.Raw, g.name, g.span)
		if err != nil {
			yield(Stored{}, err)
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

// batches puts groups together, one, two, four and so on, so that a dense range
// costs no query too many and a sparse one few round trips.
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

// merge yields the items of some partitions in order, and tells whether to go on.
func (g *gather) merge(ctx context.Context, parts []partition, yield func(Stored, error) bool) bool {
	streams := make([]*dynamo.Stream, len(parts))
	for i, p := range parts {
		streams[i] = g.stream(p, len(parts), i)
	}
	merged, err := dynamo.NewMerge(ctx, streams, g.span.Desc)
	if err != nil {
		yield(Stored{}, err)
		return false
	}
	merged.Ahead = g.span.Limit == 0
	var last *place.Position
	for {
		from := merged.First()
		it, err := merged.Next(ctx)
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			yield(Stored{}, err)
			return false
		case it == nil:
			return true
		}
		s := g.sighting(parts[from], it)
		leave, err := g.leaves(ctx, last, s)
		if err != nil {
			yield(Stored{}, err)
			return false
		}
		if leave {
			continue
		}
		last = &s.At
		if !yield(s, nil) {
			return false
		}
	}
}

// stream reads the range's part of a partition, one of n.
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
	s := &dynamo.Stream{Client: g.t.Client, Input: input, Sort: g.t.SortKey, By: g.TellsBy(), Order: order}
	if g.after != nil {
		s.Drop = func(it dynamo.Item) bool { return g.passed(g.place(p, it)) }
	}
	return s
}

// condition asks for the span's sort keys.
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
	if text, ok := bound.(*types.AttributeValueMemberS); ok && prefix != "" {
		return dynamo.String(prefix + text.Value)
	}
	return bound
}

// place is an item's position as callers know it.
func (g *gather) place(p partition, it dynamo.Item) place.Position {
	at := place.Position{Sort: it[g.t.SortKey], By: dynamo.Apart(it, g.TellsBy()), Shard: p.shard}
	if p.prefix != "" {
		at.Sort = dynamo.String(strings.TrimPrefix(dynamo.Text(it, g.t.SortKey), p.prefix))
	}
	return at
}

func (g *gather) passed(at place.Position) bool {
	if g.passedByAnother(at) {
		return true
	}
	c := at.Compare(*g.after)
	if g.span.Desc {
		return c >= 0
	}
	return c <= 0
}

// passedByAnother tells whether an item is the one that the cursor stands behind, which
// a table gave that told items with equal sort keys apart, where this one does not.
func (g *gather) passedByAnother(at place.Position) bool {
	by := g.after.By
	return by != "" && by != place.BehindAll && g.TellsBy() == "" && dynamo.CompareValues(at.Sort, g.after.Sort) == 0
}

// sighting is a stored item with the keys that callers know, and where it was.
func (g *gather) sighting(p partition, it dynamo.Item) Stored {
	s := Stored{Item: it, At: g.place(p, it), PK: p.pk, Sort: it[g.t.SortKey]}
	it[g.t.PartitionKey], it[g.t.SortKey] = dynamo.String(g.name), s.At.Sort
	return s
}

// leaves tells whether to leave an item out, by how the table is read: one that is not
// where a look-up by the layout finds it, or the last one seen on a second
// write shard, which happens only when writers did not agree on a change of the shard
// count.
func (g *gather) leaves(ctx context.Context, last *place.Position, s Stored) (bool, error) {
	switch g.t.reads {
	case allThere:
		return false, nil
	case placed:
		if found, err := g.found(ctx, s); err != nil || !found {
			return true, err
		}
	}
	return g.Finds() && last != nil && last.By == s.At.By && dynamo.CompareValues(last.Sort, s.At.Sort) == 0, nil
}

// found tells whether a look-up by the layout finds an item where it was read. Only near a
// change of the shard count that takes reads: there it may be on another place than the
// first, and counts if it is not on that, too.
func (g *gather) found(ctx context.Context, s Stored) (bool, error) {
	places, err := g.Places(ctx, g.name, s.Item)
	read := place.Place{PK: s.PK, Sort: s.Sort}
	if err != nil || read.Equal(places[0]) || !slices.ContainsFunc(places, read.Equal) {
		return err == nil && read.Equal(places[0]), err
	}
	at, it, err := g.Look(ctx, places, g.Identity(s.Item))
	return it != nil && read.Equal(at), err
}

// cursor is the position after an item.
func (g *gather) cursor(at place.Position) string {
	if !g.Finds() {
		return at.String()
	}
	at.Shard = math.MaxInt // the same on another write shard is no other item
	if g.span.Desc {
		at.Shard = -1
	} else if g.TellsBy() == "" {
		at.By = place.BehindAll // nor is another with the sort key
	}
	return at.String()
}
