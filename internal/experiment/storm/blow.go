package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/local/system"
)

// second is what happened to the requests that began in one second.
type second struct {
	Second    int   `json:"second"`
	Offered   int   `json:"offered"`
	Refused   int   `json:"refused"`
	Shards    int   `json:"shards"`    // the newest shard count at its end
	Throttled int64 `json:"throttled"` // attempts that the limiter refused in it
}

// result is a storm's outcome.
type result struct {
	Name       string   `json:"name"`
	Rate       float64  `json:"rate"`
	Seconds    []second `json:"seconds"`
	Offered    int      `json:"offered"`
	Refused    int      `json:"refused"`
	Accepted   int      `json:"accepted"`
	Found      int      `json:"found"`            // what a strong read tells afterwards
	Misread    int      `json:"misread"`          // reads during the storm that missed or repeated something
	FirstAt    float64  `json:"first_throttle_s"` // -1 for none
	CalmAt     float64  `json:"calm_s"`           // from when on less than 1 % were refused; -1 for never
	Throttled  int64    `json:"throttled_attempts"`
	WriteUnits float64  `json:"write_units"`

	// Others are refusals with another status than 429, by status and error.
	Others map[string]int `json:"others,omitempty"`
}

// storm is one under way.
type storm struct {
	scenario
	api    string
	system *system.System
	client *http.Client
	begin  time.Time

	mu      sync.Mutex
	seconds []second
	errs    map[string]int
	first   float64
	ids     map[string]bool // of accepted events
	misread int
}

const (
	key     = "hot"
	watchAt = 100 * time.Millisecond
)

func (s scenario) blow(ctx context.Context, running *system.System) (result, error) {
	st := &storm{
		scenario: s, api: running.URL(), system: running, first: -1, errs: map[string]int{}, ids: map[string]bool{},
		client:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000}, Timeout: 30 * time.Second},
		seconds: make([]second, int(s.Lasting.Seconds())),
	}
	for i := range st.seconds {
		st.seconds[i].Second = i
	}
	if err := st.prepare(ctx); err != nil {
		return result{}, err
	}
	st.begin = time.Now()
	var wg sync.WaitGroup
	watched := make(chan struct{})
	go func() { defer close(watched); st.watch(ctx) }()
	var reader sync.WaitGroup
	reader.Go(func() { st.read(ctx, watched) })
	sent := 0.0
	for last := st.begin; time.Since(st.begin) < s.Lasting && ctx.Err() == nil; {
		time.Sleep(2 * time.Millisecond)
		now := time.Now()
		sent += s.rate(now.Sub(st.begin)) * now.Sub(last).Seconds()
		for last = now; sent >= 1; sent-- {
			wg.Go(func() { st.write(ctx, now) })
		}
	}
	wg.Wait()
	<-watched
	reader.Wait()
	return st.result(ctx)
}

// write makes one write, and notes under its beginning what became of it.
func (st *storm) write(ctx context.Context, began time.Time) {
	path, body := st.request()
	var answer struct{ Results []struct{ ID string } }
	status, err := st.send(ctx, http.MethodPost, path, body, &answer)
	at := min(int(began.Sub(st.begin).Seconds()), len(st.seconds)-1)
	st.mu.Lock()
	defer st.mu.Unlock()
	st.seconds[at].Offered++
	if status != http.StatusOK {
		st.seconds[at].Refused++
	} else if st.Kind == "event" {
		st.ids[answer.Results[0].ID] = true
	}
	if status != http.StatusOK && status != http.StatusTooManyRequests {
		st.errs[fmt.Sprint(status, err)]++
	}
}

// request is one write of the storm's kind.
func (st *storm) request() (path, body string) {
	switch st.Kind {
	case "event":
		return "/v1/events", fmt.Sprintf(`{"events":[{"entity":%q}]}`, key)
	case "board":
		return "/v1/scores", fmt.Sprintf(`{"board":%q,"scores":[{"player":%q,"score":1}]}`, key, st.player())
	}
	return "/v1/counters", fmt.Sprintf(`{"increments":[{"counter":%q,"delta":1}]}`, key)
}

// watch notes the shard count and the throttles as time goes by, and has the
// count grow by one where the scenario says so.
func (st *storm) watch(ctx context.Context) {
	var before int64
	ticker := time.NewTicker(watchAt)
	defer ticker.Stop()
	for seen := 0; seen < len(st.seconds); {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			throttled := throttledAttempts(st.system)
			after := now.Sub(st.begin).Seconds()
			if throttled > 0 && st.first < 0 {
				st.first = after
			}
			if int(after) <= seen {
				continue
			}
			shards := st.shards(ctx)
			st.mu.Lock()
			st.seconds[seen].Shards, st.seconds[seen].Throttled = shards, throttled-before
			st.mu.Unlock()
			if st.ByOne && throttled > before {
				body := fmt.Sprintf(`{"type":"counter","name":%q,"shards":%d}`, key, shards+1)
				_, _ = st.send(ctx, http.MethodPut, "/v1/shards", body, nil) // one that fails comes again
			}
			seen, before = seen+1, throttled
		}
	}
}

func throttledAttempts(running *system.System) (n int64) {
	for _, o := range running.Charged().Operations {
		n += o.ThrottledRequests + o.ThrottledItems
	}
	return n
}

func (st *storm) shards(ctx context.Context) int {
	kind := st.Kind
	if kind == "event" {
		kind = "entity"
	}
	var answer struct{ Shards int }
	_, _ = st.send(ctx, http.MethodGet, "/v1/shards?type="+kind+"&name="+key, "", &answer) // 0 shows
	return answer.Shards
}

func (st *storm) send(ctx context.Context, method, path, body string, into any) (int, error) {
	request, err := http.NewRequestWithContext(ctx, method, st.api+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := st.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if into == nil {
		into = new(json.RawMessage)
	}
	return response.StatusCode, json.NewDecoder(response.Body).Decode(into)
}
