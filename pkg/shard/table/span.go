package table

import (
	"cmp"
	"errors"
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
	if !ok { // an empty span, whose Low is above its High
		low, high = s.Format(to.Add(s.Unit())), s.Format(to)
	}
	if s.Number() {
		return Span{Low: dynamo.Decimal(low), High: dynamo.Decimal(high)}
	}
	return Span{Low: dynamo.String(low), High: dynamo.String(high)}
}

// window is the part of a span within one bucket.
type window struct {
	label      string    // of the bucket
	start, end time.Time // of the bucket
	from, to   time.Time // of the part; to is included unless it is the bucket's end
}

// before returns the position before the bucket's first item, in the order of reading.
func (w window) before(stamp shard.Stamp, desc bool) place.Position {
	s := During(stamp, w.start, w.end)
	if desc {
		return place.Position{Sort: s.High, Tie: place.LastTie, Shard: math.MaxInt}
	}
	return place.Position{Sort: s.Low, Shard: -1}
}

// windows returns the parts of the span by bucket, in the order of reading; none if the span is empty.
func (s Span) windows(b shard.Bucket, stamp shard.Stamp) (iter.Seq[window], error) {
	from, _, err1 := boundTime(stamp, s.Low)
	to, excluded, err2 := boundTime(stamp, s.High)
	if err1 != nil || err2 != nil {
		return nil, fmt.Errorf("%w: a range over time buckets needs a Span with Low and High, as During returns it: %w", shard.ErrMisused, cmp.Or(err1, err2))
	}
	if excluded {
		to = to.Add(-1)
	}
	first, last, step := from.UTC().Truncate(b.Width()), to.UTC().Truncate(b.Width()), b.Width()
	if s.Desc {
		first, last, step = last, first, -step
	}
	return func(yield func(window) bool) {
		isDone := to.Before(from)
		for start := first; !isDone; start = start.Add(step) {
			isDone = !yield(newWindow(b, start, from, to)) || start.Equal(last)
		}
	}, nil
}

// newWindow returns the part of the times between from and to that is within the bucket that begins at start.
func newWindow(b shard.Bucket, start, from, to time.Time) window {
	end := start.Add(b.Width())
	w := window{label: b.Label(start), start: start, end: end, from: start, to: end}
	if from.After(start) {
		w.from = from
	}
	if to.Before(end) {
		w.to = to
	}
	return w
}

// boundTime returns the time of a span's Low or High, and whether the span excludes that time.
func boundTime(stamp shard.Stamp, bound types.AttributeValue) (at time.Time, excluded bool, err error) {
	text, ok := dynamo.Attribute(Item{"": bound}, "")
	if !ok {
		return time.Time{}, false, errors.New("a bound is missing, or is neither text nor a number")
	}
	return stamp.ParseBound(text)
}
