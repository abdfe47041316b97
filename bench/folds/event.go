package folds

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/oklog/ulid/v2"
)

// Sizes of calls with events, and how often things happen to them.
const (
	maxEvents    = 150 // of an unkeyed call
	maxRecent    = 300 // events that a caller may send again
	againPercent = 12
	keyedOneIn   = 3 // calls
	giveUpOneIn  = 12
)

// sent is an event of a call of the API.
type sent struct {
	Entity string         `json:"entity"`
	ID     string         `json:"id,omitempty"`
	Time   string         `json:"time,omitempty"`
	Data   map[string]any `json:"data,omitempty"`
}

// events sends so many.
func (c *caller) events(ctx context.Context, all int) error {
	for done := 0; done < all; {
		keyed := c.random.IntN(keyedOneIn) == 0 || done == 0 // or a short run might have none
		most := maxEvents
		if keyed {
			most = maxKeyed
		}
		list := c.drawEvents(min(all-done, 1+c.random.IntN(most), (all+1)/2))
		c.count(eventsSent, len(list))
		body := mustJSON(map[string]any{"events": list})
		send := c.sendEvents
		if keyed {
			send = func(ctx context.Context, list []sent, body []byte) error {
				ctx, t := withTally(ctx)
				answer, err := c.keyed(ctx, "/v1/events", body, eventsKeyed, len(list))
				if err == nil {
					_, err = c.answered(list, answer, t)
				}
				return err
			}
		}
		if err := send(ctx, list, body); err != nil {
			return err
		}
		done += len(list)
		c.pause(ctx, len(list), all)
	}
	return nil
}

// sendEvents sends an unkeyed call until all of it is accepted, or the caller gives up.
func (c *caller) sendEvents(ctx context.Context, list []sent, body []byte) error {
	for done := false; !done; {
		ctx, t := withTally(ctx)
		status, answer, err := c.post(ctx, "/v1/events", body, "")
		if err == nil && status == http.StatusOK {
			done, err = c.answered(list, answer, t)
		}
		if err != nil {
			return err
		}
		done = done || c.random.IntN(giveUpOneIn) == 0
	}
	return nil
}

// answered takes in the answer of a call that did what t has; all tells that all was accepted.
func (c *caller) answered(list []sent, answer []byte, t *tally) (all bool, err error) {
	results, err := resultsOf(answer)
	if err == nil && len(results) != len(list) {
		err = fmt.Errorf("POST /v1/events: %d results for %d events; want one for each", len(results), len(list))
	}
	if err != nil {
		return false, err
	}
	all = true
	for i, r := range results {
		ev := list[i]
		ev.ID, ev.Time = r.ID, r.Time
		id := identity{ev.Entity, r.Time + "#" + r.ID}
		if !r.accepted() {
			c.books.rejected(id, t, r)
			all = false
			continue
		}
		c.books.accepted(id)
		if len(c.recent) < maxRecent {
			c.recent = append(c.recent, ev)
		} else {
			c.recent[c.random.IntN(maxRecent)] = ev
		}
	}
	return all, nil
}

// drawEvents draws those of a call. Some were sent before, and have the same data or
// other; some have no id, some no time, few neither.
func (c *caller) drawEvents(n int) (list []sent) {
	for range n {
		if c.random.IntN(100) < againPercent && len(c.recent) > 0 {
			ev := c.recent[c.random.IntN(len(c.recent))]
			if c.random.IntN(100) < 30 {
				ev.Data = c.data()
			}
			c.count("events: sent again on purpose", 1)
			list = append(list, ev)
			continue
		}
		ev := sent{Entity: entityName(zipf(c.random, c.o.Entities)), Data: c.data()}
		at := c.time().UTC()
		switch kind := c.random.IntN(100); {
		case kind < 75:
			ev.ID, ev.Time = fmt.Sprintf("%s#%x", c.name, c.random.Uint64()), at.Format(time.RFC3339Nano)
		case kind < 85:
			ev.ID = c.ulid(at)
		case kind < 95:
			ev.Time = at.Format(time.RFC3339Nano)
		}
		list = append(list, ev)
	}
	return list
}

// ulid draws an id that has the event's time.
func (c *caller) ulid(at time.Time) string {
	var id ulid.ULID
	if err := errors.Join(id.SetTime(ulid.Timestamp(at)), id.SetEntropy(fmt.Appendf(nil, "%010d", c.random.Int64N(1e10)))); err != nil {
		panic(err) // the lengths are right
	}
	return id.String()
}

// dayEvery of the entities is rolled up by the day, the others by the hour.
const dayEvery = 3

// entityName returns the name of entity i. It contains #, the separator of keys.
func entityName(i int) string {
	if i%dayEvery == 0 {
		return fmt.Sprintf("%se#%d", dayPrefix, i)
	}
	return fmt.Sprintf("e#%d", i)
}

// time draws one of the last hours: at any moment, next to the end of an hour or
// of a day, or about now.
func (c *caller) time() time.Time {
	near := time.Duration(c.random.IntN(5)-2) * time.Millisecond
	switch n := c.random.IntN(100); {
	case n < 45:
		return c.began.Add(-time.Duration(c.random.Int64N(int64(3 * time.Hour))))
	case n < 60:
		return c.began.Truncate(time.Hour).Add(near - time.Duration(c.random.IntN(3))*time.Hour)
	case n < 75:
		return c.began.Truncate(24 * time.Hour).Add(near - time.Duration(c.random.IntN(2))*24*time.Hour)
	}
	return time.Now().Add(time.Duration(c.random.IntN(5000)-3500) * time.Millisecond)
}

// data draws an event's data: numbers, of which few are too wide to be rolled up,
// and things that are no numbers.
func (c *caller) data() map[string]any {
	data := map[string]any{}
	draw := func(perCent int, field string, values ...any) {
		if c.random.IntN(100) < perCent {
			data[field] = values[c.random.IntN(len(values))]
		}
	}
	draw(90, "t", float64(c.random.IntN(100_000)-30_000)/100)
	draw(60, "n", c.random.IntN(2000)-700)
	draw(15, "w", int64(999_999_999_999_999), int64(9_007_199_254_740_993), 123456.789012345, 0.1234567890123456)
	draw(20, "s", "21.5", true, nil, map[string]any{"t": 1}, []int{1, 2}, "")
	return data
}
