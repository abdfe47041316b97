package table

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
)

// Span is a range of a name's sort keys. The zero value is all of them.
type Span struct {
	Low, High  types.AttributeValue // both included; nil is open
	Desc       bool                 // from high to low sort keys
	Limit      int                  // at most this many items; 0 is all, and for Page 100
	After      string               // Page.Next of the previous page; "" for the first
	Consistent bool                 // strongly consistent, at twice the read units
}

// During returns the span of the sort keys whose times are from or later, and before to.
func During(s shard.Stamp, from, to time.Time) Span {
	low, high, ok := s.Bounds(from, to)
	if !ok { // an empty span
		low, high = s.Format(to.Add(s.Unit())), s.Format(to)
	}
	if s.Number() {
		return Span{Low: dynamo.Decimal(low), High: dynamo.Decimal(high)}
	}
	return Span{Low: dynamo.String(low), High: dynamo.String(high)}
}

// cut is a span divided into buckets.
type cut struct {
	bucket   shard.Bucket
	from, to time.Time // both included
}

// window is the part of a span within one bucket.
type window struct {
	label      string
	start, end time.Time // the bucket's
	from, to   time.Time
}

// edge returns the position before the bucket's first item, in the order of reading.
func (w window) edge(stamp shard.Stamp, desc bool) place.Position {
	s := During(stamp, w.start, w.end)
	if desc {
		return place.Position{Sort: s.High, Tie: place.LastTie, Shard: math.MaxInt}
	}
	return place.Position{Sort: s.Low, Shard: -1}
}

func cutSpan(b shard.Bucket, stamp shard.Stamp, s Span) (cut, error) {
	from, _, err1 := boundTime(stamp, s.Low)
	to, open, err2 := boundTime(stamp, s.High)
	if err1 != nil || err2 != nil {
		return cut{}, fmt.Errorf("%w: a range over time buckets needs both ends, as During returns them: %w", shard.ErrMisused, cmp.Or(err1, err2))
	}
	if open {
		to = to.Add(-1)
	}
	return cut{b, from, to}, nil
}

// boundTime returns a span's end; open means that the span excludes it.
func boundTime(stamp shard.Stamp, bound types.AttributeValue) (at time.Time, open bool, err error) {
	text, ok := dynamo.Attribute(Item{"": bound}, "")
	if !ok {
		return time.Time{}, false, fmt.Errorf("an end is missing")
	}
	return stamp.ParseBound(text)
}

// windows yields the span's buckets in order.
func (c cut) windows(desc bool) iter.Seq[window] {
	step, at, end := c.bucket.Width(), c.from.UTC().Truncate(c.bucket.Width()), c.to.UTC().Truncate(c.bucket.Width())
	if desc {
		step, at, end = -step, end, at
	}
	return func(yield func(window) bool) {
		if c.to.Before(c.from) {
			return
		}
		for ; ; at = at.Add(step) {
			next := at.Add(c.bucket.Width())
			w := window{label: c.bucket.Label(at), start: at, end: next, from: at, to: next}
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
