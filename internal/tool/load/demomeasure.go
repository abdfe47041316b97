package load

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// measured has one ramp's figures, as the API returned them.
type measured struct {
	begin, end time.Time

	load      Result
	verdict   time.Time   // when the counter was first called hot; zero if never
	hotWCU    float64     // WCU/s of one write shard from which the counter is hot
	throttled []int64     // the counter's throttled writes, each second from begin on
	heaviest  []rampHeat  // each window from begin on
	changes   []mapChange // oldest first

	shardsBefore int // the counter's shard count before them; 0 if it never changed before
}

// rampHeat is the counter's heat in one window.
type rampHeat struct {
	wcu     float64 // WCU/s of the hottest write shard
	covered float64 // share of the window that was counted
}

// mapChange is a change of the counter's shard count in the shard map.
type mapChange struct {
	Time   time.Time `json:"time"`
	Shards int       `json:"shards"`
	By     string    `json:"by"`
}

// demoAPI reads the API of the demo's system.
type demoAPI struct{ url string }

func (c demoAPI) getJSON(ctx context.Context, path string, query url.Values, into any) error {
	api := APIClient{Base: c.url, HTTP: http.DefaultClient}
	return api.Call(ctx, http.MethodGet, path+"?"+query.Encode(), "", nil, into)
}

// watchVerdict reads the hot keys twice a second until the counter's status is hot or saturated, and sets
// figures.verdict. It continues after an error. If every request failed until ctx ends, it returns the last error.
func (c demoAPI) watchVerdict(ctx context.Context, figures *measured) error {
	var lastErr error
	succeeded := false
	for {
		var out struct {
			Keys []struct{ Type, Name, Status string }
		}
		if err := c.getJSON(ctx, "/v1/hot-keys", url.Values{"since": {"30s"}}, &out); err == nil {
			succeeded = true
		} else if ctx.Err() == nil {
			lastErr = err
		}
		for _, k := range out.Keys {
			if k.Type == "counter" && k.Name == DemoCounter && (k.Status == "hot" || k.Status == "saturated") {
				figures.verdict = time.Now()
				return nil
			}
		}
		if !dynamo.Pause(ctx, time.Second/2) {
			break
		}
	}
	if succeeded {
		return nil
	}
	return lastErr
}

// countTimeout bounds the wait until the last window is counted.
const countTimeout = 40 * time.Second

// readMeasured waits up to countTimeout for the count of the ramp's windows, and sets all figures but load and verdict.
func (c demoAPI) readMeasured(ctx context.Context, figures *measured) error {
	if err := c.readHeat(ctx, figures); err != nil {
		return err
	}
	if err := c.readThrottled(ctx, figures); err != nil {
		return err
	}
	var shards struct{ History []mapChange }
	if err := c.getJSON(ctx, "/v1/shards", url.Values{"type": {"counter"}, "name": {DemoCounter}}, &shards); err != nil {
		return err
	}
	for _, change := range shards.History {
		if change.Time.After(figures.begin) {
			figures.changes = append(figures.changes, change)
		} else {
			figures.shardsBefore = change.Shards
		}
	}
	return nil
}

// query returns the API's parameters for the time of the ramp.
func (m *measured) query(step string) url.Values {
	return url.Values{"from": {m.begin.UTC().Format(time.RFC3339)}, "to": {m.end.UTC().Format(time.RFC3339)}, "step": {step}}
}

// readHeat waits until the last window is counted, without an error after countTimeout, and sets the heat and hotWCU.
func (c demoAPI) readHeat(ctx context.Context, figures *measured) error {
	query := figures.query(DemoWindow.String())
	query.Set("group", "base")
	query.Set("filter", DemoCounter)
	var heat struct {
		HotWCU  float64   `json:"hot_wcu"`
		AsOf    time.Time `json:"as_of"`
		Covered []float64
		Rows    []struct {
			Name     string
			Heaviest []float64 // WCU/s of the hottest write shard
		}
	}
	for deadline := time.Now().Add(countTimeout); ; {
		if err := c.getJSON(ctx, "/v1/heat", query, &heat); err != nil {
			return err
		}
		allCounted := !heat.AsOf.Before(figures.end)
		if allCounted || time.Now().After(deadline) {
			break
		}
		if !dynamo.Pause(ctx, time.Second/2) {
			return context.Cause(ctx)
		}
	}
	figures.hotWCU, figures.heaviest = heat.HotWCU, make([]rampHeat, len(heat.Covered))
	for i := range heat.Covered {
		figures.heaviest[i].covered = heat.Covered[i]
	}
	for _, row := range heat.Rows {
		if row.Name != DemoCounter {
			continue
		}
		for i, wcu := range row.Heaviest {
			figures.heaviest[i].wcu = wcu
		}
	}
	return nil
}

// readThrottled sets the counter's throttled writes in each second, from the limiter.
func (c demoAPI) readThrottled(ctx context.Context, figures *measured) error {
	var signals struct {
		Source string
		Keys   []struct {
			Type, Name string
			Throttled  []int64
		}
	}
	if err := c.getJSON(ctx, "/console/signals", figures.query("1s"), &signals); err != nil {
		return err
	}
	if signals.Source != "limiter" {
		return errors.New("the system has no limiter, which counts throttled writes: start it with hotshard demo")
	}
	for _, k := range signals.Keys {
		if k.Type == "counter" && k.Name == DemoCounter {
			figures.throttled = k.Throttled
		}
	}
	return nil
}
