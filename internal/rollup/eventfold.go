package rollup

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/partial"
)

// eventPart is a stream shard's part of an event rollup.
type eventPart struct{ partial.Partial }

func (p eventPart) seq() string { return p.Sequence }

func parseEventPart(item map[string]types.AttributeValue) (eventPart, error) {
	p, err := partial.Parse(item)
	return eventPart{p}, err
}

// eventFolder folds events into the parts of their rollups.
type eventFolder struct {
	partFolder[eventPart]
	retention time.Duration // 0 is for ever
}

func newEventFolder(client updater, settings Settings, now func() time.Time) *eventFolder {
	return &eventFolder{newPartFolder(client, settings.RollupsTable, now, parseEventPart, weighEvents), settings.RollupRetention}
}

// weighEvents is about what a part's measures take in memory.
func weighEvents(p eventPart) (n int) {
	const measure = 300
	for field := range p.Measures {
		n += measure + len(field)
	}
	return n
}

// fold adds the records of a bucket that its part does not have yet.
func (f *eventFolder) fold(ctx context.Context, b *bucket) error {
	slices.SortStableFunc(b.records, func(x, y occurrence) int { return cmp.Compare(x.place, y.place) })
	return f.partFolder.fold(ctx, partJob[eventPart]{
		partKey: b.partKey, streamShard: b.streamShard, what: "events", expires: f.expiry(b.end),
		advance: func(known eventPart) (eventPart, bool) { return advance(known, b.records) },
	})
}

// advance returns a part after these records, which are in order; news is false
// when it has them all.
func advance(known eventPart, records []occurrence) (next eventPart, news bool) {
	next = eventPart{known.Clone()}
	for _, o := range records {
		if o.place <= next.Sequence {
			continue
		}
		if o.restated {
			next.Restated = true
		} else {
			next.Add(o.numbers)
		}
		next.Sequence, news = o.place, true
	}
	return next, news
}

// expiry is the retention after the bucket's end or this fold, zero for never: a
// record can come again for a day after it was folded, and must find the part.
func (f *eventFolder) expiry(end time.Time) time.Time {
	if f.retention == 0 {
		return time.Time{}
	}
	if now := f.now(); now.After(end) {
		end = now
	}
	return end.Add(f.retention)
}
