package demo

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/tool/load"
)

// measured has the API's figures of one ramp.
type measured struct {
	begin, end time.Time

	load      load.Result
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

// client reads the API.
type client struct{ url string }

// getJSON calls the API and decodes the response.
func (c client) getJSON(ctx context.Context, path string, query url.Values, into any) error {
	api := load.APIClient{Base: c.url, HTTP: http.DefaultClient}
	if err := api.Call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, into); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}

// watchVerdict reads the hot keys twice a second until the counter is among them. It retries a failed request, and
// returns the last error only if no request succeeded.
func (c client) watchVerdict(ctx context.Context, m *measured) error {
	var failed error
	succeeded := false
	for again := true; again; again = dynamo.Pause(ctx, time.Second/2) {
		var out struct {
			Keys []struct{ Type, Name, Status string }
		}
		if err := c.getJSON(ctx, "/v1/hot-keys", url.Values{"since": {"30s"}}, &out); err == nil {
			succeeded = true
		} else if ctx.Err() == nil {
			failed = err
		}
		for _, k := range out.Keys {
			if k.Type == "counter" && k.Name == Counter && (k.Status == "hot" || k.Status == "saturated") {
				m.verdict = time.Now()
				return nil
			}
		}
	}
	if succeeded {
		return nil
	}
	return failed
}

// countedTime is the timeout of the wait for the last window.
const countedTime = 40 * time.Second

// measure reads the figures of the story after the ramp's windows are counted.
func (c client) measure(ctx context.Context, m *measured) error {
	if err := c.readHeat(ctx, m); err != nil {
		return err
	}
	if err := c.readThrottled(ctx, m); err != nil {
		return err
	}
	var shards struct{ History []mapChange }
	if err := c.getJSON(ctx, "/v1/shards", url.Values{"type": {"counter"}, "name": {Counter}}, &shards); err != nil {
		return err
	}
	for _, change := range shards.History {
		if change.Time.After(m.begin) {
			m.changes = append(m.changes, change)
		}
	}
	return nil
}

func (m *measured) query(step string) url.Values {
	return url.Values{"from": {m.begin.UTC().Format(time.RFC3339)}, "to": {m.end.UTC().Format(time.RFC3339)}, "step": {step}}
}

// readHeat waits until the last window is counted, and reads the counter's heat.
func (c client) readHeat(ctx context.Context, m *measured) error {
	query := m.query(Window.String())
	query.Set("group", "base")
	query.Set("filter", Counter)
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
		if !heat.AsOf.Before(m.end) || time.Now().After(patience) {
			break
		}
		if !dynamo.Pause(ctx, time.Second/2) {
			return context.Cause(ctx)
		}
	}
	m.hotWCU, m.heaviest = heat.HotWCU, make([]heatOf, len(heat.Covered))
	for i := range heat.Covered {
		m.heaviest[i].covered = heat.Covered[i]
	}
	for _, row := range heat.Rows {
		for i := range row.Heaviest {
			if row.Name == Counter {
				m.heaviest[i].wcu = row.Heaviest[i]
			}
		}
	}
	return nil
}

// readThrottled reads the counter's throttled writes per second from the limiter.
func (c client) readThrottled(ctx context.Context, m *measured) error {
	var signals struct {
		Source string
		Keys   []struct {
			Type, Name string
			Throttled  []int64
		}
	}
	if err := c.getJSON(ctx, "/console/signals", m.query("1s"), &signals); err != nil {
		return err
	}
	if signals.Source != "limiter" {
		return fmt.Errorf("the system has no limiter, which counts throttled writes: start it with hotshard demo")
	}
	for _, k := range signals.Keys {
		if k.Type == "counter" && k.Name == Counter {
			m.throttled = k.Throttled
		}
	}
	return nil
}
