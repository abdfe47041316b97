package load

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// measured has the API's figures of one ramp.
type measured struct {
	begin, end time.Time

	load      Result
	verdict   time.Time // when the counter was first called hot; zero if never
	hotWCU    float64
	throttled []int64     // the counter's throttled writes, each second from begin on
	heaviest  []heatOf    // each window from begin on
	changes   []mapChange // oldest first
}

// heatOf is the counter's heat in one window.
type heatOf struct {
	wcu     float64 // WCU/s of the hottest write shard
	covered float64 // share of the window that was counted
}

// mapChange is a change of the counter's shard count in the shard map.
type mapChange struct {
	Time   time.Time `json:"time"`
	Shards int       `json:"shards"`
	By     string    `json:"by"`
}

// demoAPI reads the API.
type demoAPI struct{ url string }

// getJSON calls the API and decodes the response.
func (c demoAPI) getJSON(ctx context.Context, path string, query url.Values, into any) error {
	api := APIClient{Base: c.url, HTTP: http.DefaultClient}
	return api.Call(ctx, http.MethodGet, path+"?"+query.Encode(), "", nil, into)
}

// watchVerdict reads the hot keys twice a second until the counter is among them. It retries a failed request, and
// returns the last error only if no request succeeded.
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

// countedTime is the timeout of the wait for the last window.
const countedTime = 40 * time.Second

// readMeasured reads the figures of the story after the ramp's windows are counted.
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
		}
	}
	return nil
}

func (m *measured) query(step string) url.Values {
	return url.Values{"from": {m.begin.UTC().Format(time.RFC3339)}, "to": {m.end.UTC().Format(time.RFC3339)}, "step": {step}}
}

// readHeat waits until the last window is counted, and reads the counter's heat.
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
	for patience := time.Now().Add(countedTime); ; {
		if err := c.getJSON(ctx, "/v1/heat", query, &heat); err != nil {
			return err
		}
		if !heat.AsOf.Before(figures.end) || time.Now().After(patience) {
			break
		}
		if !dynamo.Pause(ctx, time.Second/2) {
			return context.Cause(ctx)
		}
	}
	figures.hotWCU, figures.heaviest = heat.HotWCU, make([]heatOf, len(heat.Covered))
	for i := range heat.Covered {
		figures.heaviest[i].covered = heat.Covered[i]
	}
	for _, row := range heat.Rows {
		for i := range row.Heaviest {
			if row.Name == DemoCounter {
				figures.heaviest[i].wcu = row.Heaviest[i]
			}
		}
	}
	return nil
}

// readThrottled reads the counter's throttled writes per second from the limiter.
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
		return fmt.Errorf("the system has no limiter, which counts throttled writes: start it with hotshard demo")
	}
	for _, k := range signals.Keys {
		if k.Type == "counter" && k.Name == DemoCounter {
			figures.throttled = k.Throttled
		}
	}
	return nil
}
