package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// readEvery is the pause between reads of all events while the storm lasts.
const readEvery = 3 * time.Second

// read reads all events again and again while the storm lasts, and counts the
// reads that missed an event accepted before they began, or gave one twice.
func (st *storm) read(ctx context.Context, done <-chan struct{}) {
	for st.Kind == "event" {
		select {
		case <-done:
			return
		case <-time.After(readEvery):
		}
		st.mu.Lock()
		before := maps.Clone(st.ids)
		st.mu.Unlock()
		found, twice, err := st.events(ctx)
		for id := range before {
			twice = twice || !found[id]
		}
		st.mu.Lock()
		if twice || err != nil {
			st.misread++
		}
		st.mu.Unlock()
	}
}

// events reads the entity's events of the storm.
func (st *storm) events(ctx context.Context) (found map[string]bool, twice bool, err error) {
	found = map[string]bool{}
	query := url.Values{"entity": {key}, "limit": {"1000"}, "from": {st.begin.Add(-time.Minute).UTC().Format(time.RFC3339)}}
	for {
		var page struct {
			Events []struct{ ID string }
			Cursor string
		}
		status, err := st.send(ctx, http.MethodGet, "/v1/events?"+query.Encode(), "", &page)
		if err != nil || status != http.StatusOK {
			return found, twice, fmt.Errorf("reading events: %d %w", status, err)
		}
		for _, ev := range page.Events {
			twice = twice || found[ev.ID]
			found[ev.ID] = true
		}
		if page.Cursor == "" {
			return found, twice, nil
		}
		query.Set("cursor", page.Cursor)
	}
}

// total is what a strong read tells of the storm.
func (st *storm) total(ctx context.Context) (int, error) {
	switch st.Kind {
	case "event":
		found, _, err := st.events(ctx)
		return len(found), err
	case "board":
		return st.scores(ctx)
	}
	var answer struct{ Value int }
	status, err := st.send(ctx, http.MethodGet, "/v1/counters?consistency=strong&name="+key, "", &answer)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("reading the counter: %d", status)
	}
	return answer.Value, err
}

// result waits until reads are not throttled any more, and sums up.
func (st *storm) result(ctx context.Context) (result, error) {
	time.Sleep(2 * time.Second)
	found, err := st.total(ctx)
	if err != nil {
		return result{}, err
	}
	r := result{
		Name: st.Name, Rate: st.To, Seconds: st.seconds, Found: found, Misread: st.misread,
		FirstAt: st.first, CalmAt: -1, WriteUnits: st.system.Charged().WriteUnits, Throttled: throttledAttempts(st.system),
	}
	if st.Ramp == 0 {
		r.Rate = st.From
	}
	for _, s := range st.seconds {
		r.Offered += s.Offered
		r.Refused += s.Refused
	}
	r.Accepted = r.Offered - r.Refused
	r.Others = st.errs
	for i, s := range slices.Backward(st.seconds) {
		if s.Refused*100 >= max(1, s.Offered) {
			break
		}
		r.CalmAt = float64(i)
	}
	return r, nil
}
