package ddb

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Span is a part of the order of a name's sort keys. The zero value is all of it.
type Span struct {
	Low, High  types.AttributeValue // both included; nil is open
	Desc       bool                 // from high to low
	Limit      int                  // at most so many items; 0 is all, and for Page 100
	After      string               // ItemPage.Next of the page before; "" for the first
	Consistent bool                 // strongly consistent, at twice the read units
}

// During is the span of the sort keys whose times are from from to before to.
func During(s shard.Stamp, from, to time.Time) Span {
	low, high, ok := s.Bounds(from, to)
	if !ok { // a span that holds nothing
		low, high = s.Format(to.Add(s.Unit())), s.Format(to)
	}
	if s.Number() {
		return Span{Low: &types.AttributeValueMemberN{Value: low}, High: &types.AttributeValueMemberN{Value: high}}
	}
	return Span{Low: &types.AttributeValueMemberS{Value: low}, High: &types.AttributeValueMemberS{Value: high}}
}

// cut is a span over buckets.
type cut struct {
	bucket   shard.Bucket
	offset   time.Duration
	from, to time.Time // both included
}

// window is the part of a span that lies in one bucket.
type window struct {
	label      string
	start, end time.Time // the bucket's
	from, to   time.Time
}

// edge is the position before everything in the bucket, in the order of reading.
func (w window) edge(stamp shard.Stamp, desc bool) position {
	s := During(stamp, w.start, w.end)
	if desc {
		return position{s.High, behindAll, math.MaxInt}
	}
	return position{s.Low, "", -1}
}

func cutSpan(b shard.Bucket, stamp shard.Stamp, offset time.Duration, s Span) (cut, error) {
	from, _, err1 := boundTime(stamp, s.Low)
	to, open, err2 := boundTime(stamp, s.High)
	if err1 != nil || err2 != nil {
		return cut{}, fmt.Errorf("%w: a range over time buckets needs both ends, as During makes them: %w", ErrMisused, firstError(err1, err2))
	}
	if open {
		to = to.Add(-1)
	}
	return cut{b, offset, from, to}, nil
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func boundTime(stamp shard.Stamp, bound types.AttributeValue) (at time.Time, open bool, err error) {
	text, ok := attribute(Item{"": bound}, "")
	if !ok {
		return time.Time{}, false, fmt.Errorf("an end is missing")
	}
	return stamp.ParseBound(text)
}

// windows goes through the span's buckets in order.
func (c cut) windows(desc bool) iter.Seq[window] {
	step, at, end := c.bucket.Width(), c.floor(c.from), c.floor(c.to)
	if desc {
		step, at, end = -step, end, at
	}
	return func(yield func(window) bool) {
		if c.to.Before(c.from) {
			return
		}
		for ; ; at = at.Add(step) {
			next := at.Add(c.bucket.Width())
			w := window{label: c.bucket.Label(at, c.offset), start: at, end: next, from: at, to: next}
			if c.from.After(w.from) {
				w.from = c.from
			}
			if c.to.Before(w.to) {
				w.to = c.to
			}
			if !yield(w) || at.Equal(end) {
				return
			}
		}
	}
}

// floor is the start of the bucket that holds t.
func (c cut) floor(t time.Time) time.Time {
	return t.Add(-c.offset).UTC().Truncate(c.bucket.Width()).Add(c.offset)
}

// position is a place in the order of (sort key, what tells apart, write shard). The
// second does not change with the shard count, so that cursors outlive a change.
type position struct {
	sort  types.AttributeValue
	by    string // of apart
	shard int
}

// behindAll sorts behind everything that apart returns.
const behindAll = "~"

func (p position) compare(q position) int {
	if c := compareValues(p.sort, q.sort); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(p.by, q.by), cmp.Compare(p.shard, q.shard))
}

// spell is a sort key's type and text.
func spell(v types.AttributeValue) (kind, text string) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return "S", v.Value
	case *types.AttributeValueMemberN:
		return "N", v.Value
	case *types.AttributeValueMemberB:
		return "B", string(v.Value)
	}
	return "", ""
}

// spelled is a sort key's text, for errors.
func spelled(v types.AttributeValue) string {
	_, text := spell(v)
	return text
}

// String is the form of Span.After: <shard>:<type>:<sort key>, or with what tells apart
// <shard>:<type><its length>:<what tells apart><sort key>.
func (p position) String() string {
	kind, sort := spell(p.sort)
	if p.by != "" {
		kind += strconv.Itoa(len(p.by))
	}
	return strconv.Itoa(p.shard) + ":" + kind + ":" + p.by + sort
}

func parsePosition(s string) (position, error) {
	p, ok := position{}, false
	if parts, err := shard.Decompose(":", s, 3); err == nil && parts[1] != "" {
		number, length, rest := parts[0], parts[1][1:], parts[2]
		n, err1 := strconv.Atoi(number)
		size, err2 := strconv.Atoi("0" + length)
		if err1 == nil && err2 == nil && size <= len(rest) {
			p.sort, ok = sortValue(parts[1][:1], rest[size:])
			p.by, p.shard = rest[:size], n
		}
	}
	if !ok {
		return position{}, fmt.Errorf("%w: Span.After %q is not what a page gave", ErrMisused, s)
	}
	return p, nil
}

// sortValue is a sort key of a type, by its text.
func sortValue(kind, text string) (types.AttributeValue, bool) {
	switch kind {
	case "S":
		return &types.AttributeValueMemberS{Value: text}, true
	case "N":
		_, ok := parseNumber(text)
		return &types.AttributeValueMemberN{Value: text}, ok
	case "B":
		return &types.AttributeValueMemberB{Value: []byte(text)}, true
	}
	return nil, false
}

// compareValues orders sort keys as DynamoDB does: text and binary by their bytes,
// numbers by their value. Values of one table have one type.
func compareValues(a, b types.AttributeValue) int {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		if b, ok := b.(*types.AttributeValueMemberS); ok {
			return strings.Compare(a.Value, b.Value)
		}
	case *types.AttributeValueMemberB:
		if b, ok := b.(*types.AttributeValueMemberB); ok {
			return bytes.Compare(a.Value, b.Value)
		}
	case *types.AttributeValueMemberN:
		if b, ok := b.(*types.AttributeValueMemberN); ok {
			return compareNumbers(a.Value, b.Value)
		}
	}
	return 0
}
