package ddb

import (
	"context"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// gather reads a range of a name's items from all the partitions that hold it.
type gather struct {
	t     *Table
	name  string
	span  Span
	after *position // exclusive
	most  int       // partitions to read at most; 0 is no bound

	rest *position // where it went on when most was reached
}

// sighting is an item with where it was read.
type sighting struct {
	item Item // as callers see it
	at   position
	pk   string
	sort types.AttributeValue // as stored
}

func (t *Table) gather(name string, s Span) (*gather, error) {
	if err := t.fault(); err != nil {
		return nil, err
	}
	g := &gather{t: t, name: name, span: s}
	if s.After == "" {
		return g, nil
	}
	after, err := parsePosition(s.After)
	if err != nil {
		return nil, err
	}
	g.after = &after
	g.narrow()
	return g, nil
}

// narrow takes from the span what lies before the position.
func (g *gather) narrow() {
	switch sort := g.after.sort; {
	case g.span.Desc && (g.span.High == nil || compareValues(sort, g.span.High) < 0):
		g.span.High = sort
	case !g.span.Desc && (g.span.Low == nil || compareValues(sort, g.span.Low) > 0):
		g.span.Low = sort
	}
}

// empty tells whether the span's ends leave nothing: DynamoDB refuses to be asked.
func (s Span) empty() bool {
	return s.Low != nil && s.High != nil && compareValues(s.Low, s.High) > 0
}

// all yields the range's items in order. It ends with the first error.
func (g *gather) all(ctx context.Context) iter.Seq2[sighting, error] {
	return func(yield func(sighting, error) bool) {
		if g.span.empty() {
			return
		}
		groups, err := g.t.Layout.partitions(ctx, g.t, g.name, g.span)
		if err != nil {
			yield(sighting{}, err)
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
			if have++; have < want && len(batch) < maxParallel {
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
func (g *gather) merge(ctx context.Context, parts []partition, yield func(sighting, error) bool) bool {
	streams := make([]*stream, len(parts))
	for i, p := range parts {
		streams[i] = g.stream(p, len(parts), i)
	}
	merged, err := newMerge(ctx, streams, g.span.Desc)
	if err != nil {
		yield(sighting{}, err)
		return false
	}
	merged.ahead = g.span.Limit == 0
	var last *position
	for {
		from := merged.first()
		it, err := merged.next(ctx)
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			yield(sighting{}, err)
			return false
		case it == nil:
			return true
		}
		s := g.sighting(parts[from], it)
		leave, err := g.leaves(ctx, last, s)
		if err != nil {
			yield(sighting{}, err)
			return false
		}
		if leave {
			continue
		}
		last = &s.at
		if !yield(s, nil) {
			return false
		}
	}
}

// stream reads the range's part of a partition, one of n.
func (g *gather) stream(p partition, n, order int) *stream {
	input := &dynamodb.QueryInput{
		TableName:                 &g.t.Name,
		ExpressionAttributeNames:  map[string]string{"#pk": g.t.PartitionKey},
		ExpressionAttributeValues: item{":pk": &types.AttributeValueMemberS{Value: p.pk}},
		ScanIndexForward:          aws.Bool(!g.span.Desc),
		ConsistentRead:            aws.Bool(g.span.Consistent),
	}
	if g.span.Limit > 0 {
		input.Limit = aws.Int32(pageSize(g.span.Limit, n))
	}
	g.condition(input, p)
	s := &stream{client: g.t.Client, input: input, sort: g.t.SortKey, by: g.t.Layout.tells(g.t), order: order}
	if g.after != nil {
		s.drop = func(it item) bool { return g.passed(g.place(p, it)) }
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
		return &types.AttributeValueMemberS{Value: prefix + text.Value}
	}
	return bound
}

// place is an item's position as callers know it.
func (g *gather) place(p partition, it item) position {
	at := position{it[g.t.SortKey], apart(it, g.t.Layout.tells(g.t)), p.shard}
	if p.prefix != "" {
		at.sort = &types.AttributeValueMemberS{Value: strings.TrimPrefix(text(it, g.t.SortKey), p.prefix)}
	}
	return at
}

func (g *gather) passed(at position) bool {
	if g.passedByAnother(at) {
		return true
	}
	c := at.compare(*g.after)
	if g.span.Desc {
		return c >= 0
	}
	return c <= 0
}

// passedByAnother tells whether an item is the one that the cursor stands behind, which
// a table gave that told items with equal sort keys apart, where this one does not.
func (g *gather) passedByAnother(at position) bool {
	by := g.after.by
	return by != "" && by != behindAll && g.t.Layout.tells(g.t) == "" && compareValues(at.sort, g.after.sort) == 0
}

// sighting gives an item the keys that callers know.
func (g *gather) sighting(p partition, it item) sighting {
	s := sighting{item: it, at: g.place(p, it), pk: p.pk, sort: it[g.t.SortKey]}
	it[g.t.PartitionKey], it[g.t.SortKey] = &types.AttributeValueMemberS{Value: g.name}, s.at.sort
	return s
}

// leaves tells whether to leave an item out, by how the table is read: one that is not
// where a look-up by the layout finds it, or the last one seen on a second
// write shard, which happens only when writers did not agree on a change of the shard
// count.
func (g *gather) leaves(ctx context.Context, last *position, s sighting) (bool, error) {
	switch g.t.reads {
	case allThere:
		return false, nil
	case placed:
		if found, err := g.found(ctx, s); err != nil || !found {
			return true, err
		}
	}
	return g.t.Layout.found() && last != nil && last.by == s.at.by && compareValues(last.sort, s.at.sort) == 0, nil
}

// found tells whether a look-up by the layout finds an item where it was read. Only near a
// change of the shard count that takes reads: there it may be on another place than the
// first, and counts if it is not on that, too.
func (g *gather) found(ctx context.Context, s sighting) (bool, error) {
	places, err := g.t.Layout.places(ctx, g.t, g.name, s.item)
	read := place{s.pk, s.sort}
	if err != nil || read.equal(places[0]) || !slices.ContainsFunc(places, read.equal) {
		return err == nil && read.equal(places[0]), err
	}
	at, it, err := g.t.look(ctx, places, g.t.identity(s.item))
	return it != nil && read.equal(at), err
}

// cursor is the position after an item.
func (g *gather) cursor(at position) string {
	if !g.t.Layout.found() {
		return at.String()
	}
	at.shard = math.MaxInt // the same on another write shard is no other item
	if g.span.Desc {
		at.shard = -1
	} else if g.t.Layout.tells(g.t) == "" {
		at.by = behindAll // nor is another with the sort key
	}
	return at.String()
}
