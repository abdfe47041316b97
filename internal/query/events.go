package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

type eventsInput struct {
	Entity httpapi.Name `query:"entity" required:"true" example:"sensor-1"`
	From   httpapi.Time `query:"from" doc:"RFC 3339; included. Default: as long before now, or before an earlier to, as events are kept; 30 days unless set otherwise"`
	To     httpapi.Time `query:"to" doc:"RFC 3339; excluded. Default: no end"`
	Limit  int          `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of events in a page. A page with a cursor may have fewer, since it ends at about 5 MB"`
	Order  string       `query:"order" enum:"asc,desc" default:"asc" doc:"Sorted by time, then by id"`
	Cursor string       `query:"cursor" doc:"Cursor of the previous page, with the same entity, range and order"`
}

type event struct {
	ID   string         `json:"id" doc:"Identifies the event among those of its entity and time"`
	Time string         `json:"time" format:"date-time" doc:"In UTC, to the millisecond"`
	Data httpapi.Object `json:"data" doc:"As written; {} if there was none"`
}

type eventsOutput struct {
	Body struct {
		Events []event `json:"events" doc:"In the requested order"`
		Cursor string  `json:"cursor,omitempty" doc:"Requests the next page; absent on the last"`
	}
}

// maxAhead bounds how far in the future an event may be. It exceeds what ingest accepts, which is some seconds.
const maxAhead = time.Minute

// eventReader reads events. Span is the length of a range without a start.
type eventReader struct {
	events *events.Reader
	span   time.Duration
}

// listEvents returns a page of the events in the requested range.
func (e *eventReader) listEvents(ctx context.Context, in *eventsInput, now time.Time) (*eventsOutput, error) {
	wanted, err := e.rangeOf(in, now)
	if err != nil {
		return nil, err
	}
	page, err := e.events.Query(ctx, wanted, now)
	if err != nil {
		return nil, err
	}
	list, next, err := fitPage(page)
	if err != nil {
		return nil, err
	}
	// Query ensures that no stored event is missing before the Next of its page. So it gets the cut page's length as limit.
	if next != "" && page.Next == "" {
		wanted.Limit = len(list)
		if page, err = e.events.Query(ctx, wanted, now); err != nil {
			return nil, err
		}
		if list, next, err = fitPage(page); err != nil {
			return nil, err
		}
	}
	out := &eventsOutput{}
	out.Body.Events = list
	if next != "" {
		out.Body.Cursor = encodeCursor(listOfEvents(in), next)
	}
	return out, nil
}

// fitPage returns the first events of a page, as many as fit into one response, and the position after them; "" at the
// range's end.
func fitPage(page events.Page) (list []event, next string, err error) {
	list = make([]event, 0, len(page.Events))
	left := httpapi.MaxAnswer
	for i, ev := range page.Events {
		answer, err := answerOfEvent(ev)
		if err != nil {
			return nil, "", err
		}
		left -= answer.weight()
		if left < 0 && i > 0 {
			last := page.Events[i-1]
			return list, schema.EventSortKey(last.Time, last.ID), nil
		}
		list = append(list, answer)
	}
	return list, page.Next, nil
}

// weight returns an upper bound on the event's bytes in a response. An id has no control characters, so JSON needs at
// most four bytes for each of its bytes.
func (e event) weight() int {
	const others = 100 // the fields' names, and the time
	return others + 4*len(e.ID) + httpapi.Weight(e.Data.RawMessage)
}

// rangeOf validates the parameters, and returns the range with its defaults.
func (e *eventReader) rangeOf(in *eventsInput, now time.Time) (events.Range, error) {
	wanted := events.Range{Entity: string(in.Entity), From: in.From.Time, To: in.To.Time, Limit: in.Limit, Bytes: httpapi.MaxAnswer, Desc: in.Order == "desc"}
	if in.To.IsZero() {
		wanted.To = now.Add(maxAhead)
	}
	if in.From.IsZero() {
		wanted.From = defaultFrom(in.To, now, e.span)
	}
	if !in.From.IsZero() && !in.To.IsZero() && in.To.Before(in.From.Time) {
		return wanted, httpapi.InvalidAt("query.to", "it is before from", httpapi.FormatTime(in.To.Time))
	}
	wanted.From, wanted.To = clampTime(wanted.From, now), clampTime(wanted.To, now)
	var err error
	wanted.After, err = decodeCursor(listOfEvents(in), in.Cursor, isEventPosition)
	return wanted, err
}

// listOfEvents returns the parameters that a cursor belongs to.
func listOfEvents(in *eventsInput) string { return in.Order + "\x00" + string(in.Entity) }

// defaultFrom returns the start of a range without one: span before its end or now, whichever is earlier.
func defaultFrom(to httpapi.Time, now time.Time, span time.Duration) time.Time {
	end := now
	if !to.IsZero() {
		end = heat.MinTime(to.Time, now)
	}
	return end.Add(-span)
}

// clampTime returns t, or the nearest time that an event may have: from 1970 to maxAhead after now.
func clampTime(t, now time.Time) time.Time {
	return heat.MaxTime(heat.MinTime(t, now.Add(maxAhead)), epoch)
}

var epoch = time.Unix(0, 0).UTC()

// answerOfEvent returns an event as JSON, or a [shard.ItemError] if its data can't be shown.
func answerOfEvent(ev events.Event) (event, error) {
	data, err := httpapi.FormatDocument(ev.Data)
	if err != nil {
		return event{}, fmt.Errorf("event %q of %q: %w", ev.ID, ev.Entity, &shard.ItemError{SK: schema.EventSortKey(ev.Time, ev.ID), Err: err})
	}
	return event{ID: ev.ID, Time: httpapi.FormatTime(ev.Time), Data: httpapi.Object{RawMessage: data}}, nil
}

type eventInput struct {
	ID     httpapi.Name `path:"id" doc:"The event's id, percent-encoded" example:"r-1"`
	Entity httpapi.Name `query:"entity" required:"true" example:"sensor-1"`
	Time   httpapi.Time `query:"time" doc:"RFC 3339; needed unless the id is a ULID"`
}

type eventOutput struct{ Body event }

// getEvent returns one event, which it reads consistently. Without a time, it takes the time from a ULID.
func (e *eventReader) getEvent(ctx context.Context, in *eventInput, now time.Time) (*eventOutput, error) {
	hint := ""
	if in.Time.IsZero() {
		id, err := ulid.ParseStrict(string(in.ID))
		if err != nil {
			return nil, httpapi.InvalidAt("query.time", "an event whose id is not a ULID needs its time", nil)
		}
		in.Time.Time, hint = id.Timestamp(), ", the time in its id; if it was written with another time, send that"
	}
	ev, err := e.events.Get(ctx, string(in.Entity), string(in.ID), in.Time.Truncate(time.Millisecond), now)
	if errors.Is(err, shard.ErrNotFound) {
		return nil, httpapi.Absent("entity %q has no event %q at %s%s", in.Entity, in.ID, httpapi.FormatTime(in.Time.Time), hint)
	} else if err != nil {
		return nil, err
	}
	out := &eventOutput{}
	out.Body, err = answerOfEvent(ev)
	return out, err
}
