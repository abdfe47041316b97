package load

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

const (
	pageSize = 100     // events in one read
	maxPages = 100_000 // of one entity
)

// storedEvent is an event as the API returns it.
type storedEvent struct {
	ID   string          `json:"id"`
	Time time.Time       `json:"time"`
	Data json.RawMessage `json:"data"`
}

func (e storedEvent) identity() identity { return identity{e.ID, e.Time.UnixMilli()} }

// hasData reports whether the event has exactly this data.
func (e storedEvent) hasData(want EventData) bool {
	decoder := json.NewDecoder(bytes.NewReader(e.Data))
	decoder.DisallowUnknownFields()
	var data *EventData
	return decoder.Decode(&data) == nil && data != nil && *data == want
}

// readEvents returns an entity's events of a span, in the API's order.
func (d *driver) readEvents(ctx context.Context, entity string, wanted span) ([]storedEvent, error) {
	query := url.Values{
		"entity": {entity},
		"from":   {wanted.first.Format(time.RFC3339Nano)},
		"to":     {wanted.last.Add(time.Millisecond).Format(time.RFC3339Nano)}, // exclusive
		"limit":  {strconv.Itoa(pageSize)},
	}
	var events []storedEvent
	for range maxPages {
		var page struct {
			Events []storedEvent `json:"events"`
			Cursor string        `json:"cursor"`
		}
		if err := d.getRetried(ctx, "/v1/events?"+query.Encode(), &page); err != nil {
			return nil, fmt.Errorf("reading events of %q: %w", entity, err)
		}
		events = append(events, page.Events...)
		if page.Cursor == "" {
			return events, nil
		}
		query.Set("cursor", page.Cursor)
	}
	return nil, fmt.Errorf("reading events of %q: no end after %d pages", entity, maxPages)
}

// compareEvents calls differ for each difference between the events that the API returned for an entity (got) and those
// that were sent (want). Events in earlier existed before the load.
func compareEvents(entity string, got []storedEvent, want map[identity]sentEvent, earlier map[identity]bool, differ func(string, ...any)) {
	seen := make(map[identity]bool, len(got))
	for i, e := range got {
		id := e.identity()
		w, ok := want[id]
		switch {
		case seen[id]:
			differ("event %s: returned twice", id.describe(entity))
		case (!ok || w.state == rejected) && !earlier[id]:
			differ("event %s: stored, but was not accepted", id.describe(entity))
		case ok && w.state == accepted && !e.hasData(w.data):
			differ("event %s: data %.200s, sent %+v", id.describe(entity), e.Data, w.data)
		}
		if i > 0 && cmp.Or(got[i-1].Time.Compare(e.Time), cmp.Compare(got[i-1].ID, e.ID)) > 0 {
			differ("event %s: out of order", id.describe(entity))
		}
		seen[id] = true
	}
	for id, w := range want {
		if w.state == accepted && !seen[id] {
			differ("event %s: accepted, but missing", id.describe(entity))
		}
	}
}

func (id identity) describe(entity string) string {
	return fmt.Sprintf("%q of %q at %s", id.id, entity, time.UnixMilli(id.milli).UTC().Format(time.RFC3339Nano))
}
