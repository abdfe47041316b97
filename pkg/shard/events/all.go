package events

import (
	"context"
	"iter"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// All yields the events of a range from Range.After to its end, in pages of Range.Limit events. It
// ends with the first error, which has the zero Event. The clock starts at now when All is called,
// not when the loop starts.
func (e *Reader) All(ctx context.Context, r Range, now time.Time) iter.Seq2[Event, error] {
	clock := dynamo.StartClock(now)
	return func(yield func(Event, error) bool) {
		for {
			page, err := e.Query(ctx, r, clock.Now())
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, ev := range page.Events {
				if !yield(ev, nil) {
					return
				}
			}
			if r.After = page.Next; r.After == "" {
				return
			}
		}
	}
}
