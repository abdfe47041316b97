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

// Bounds of reading an entity's events.
const (
	pageSize = 100     // events in one response
	maxPages = 100_000 // responses for one entity
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

// readEvents returns an entity's events of a span, in the order of the API's responses.
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
		if err := d.getWithRetries(ctx, "/v1/events?"+query.Encode(), &page); err != nil {
			return nil, fmt.Errorf("reading events of %q: %w", entity, err)
		}
		events = append(events, page.Events...)
		if page.Cursor == "" {
			return events, nil
		}
		query.Set("cursor", page.Cursor)
	}
	return nil, fmt.Errorf("reading events of %q: the API still returns a cursor after %d pages", entity, maxPages)
}

// compareEvents calls addDifference for each fault of an entity's returned events: accepted ones must be there with
// their data; unknown ones, and earlier ones from before the load, may be. Each comes once, ordered by time and id.
func compareEvents(entity string, returned []storedEvent, sent map[identity]sentEvent, earlier map[identity]bool, addDifference func(string, ...any)) {
	seen := make(map[identity]bool, len(returned))
	for i, event := range returned {
		id := event.identity()
		original, wasSent := sent[id]
		mayBeStored := earlier[id] || (wasSent && original.state != rejected)
		switch {
		case seen[id]:
			addDifference("event %s: returned twice", id.describe(entity))
		case !mayBeStored:
			addDifference("event %s: stored, but was not accepted", id.describe(entity))
		case wasSent && original.state == accepted && !event.hasData(original.data):
			addDifference("event %s: data %.200s, sent %+v", id.describe(entity), event.Data, original.data)
		}
		if i > 0 && cmp.Or(returned[i-1].Time.Compare(event.Time), cmp.Compare(returned[i-1].ID, event.ID)) > 0 {
			addDifference("event %s: out of order", id.describe(entity))
		}
		seen[id] = true
	}
	for id, original := range sent {
		if original.state == accepted && !seen[id] {
			addDifference("event %s: accepted, but missing", id.describe(entity))
		}
	}
}

func (id identity) describe(entity string) string {
	return fmt.Sprintf("%q of %q at %s", id.id, entity, time.UnixMilli(id.milli).UTC().Format(time.RFC3339Nano))
}
