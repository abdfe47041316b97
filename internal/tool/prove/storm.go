package prove

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// Storm is the result of a load on one key above a partition's limit.
type Storm struct {
	Kind    string  `json:"kind"`
	Rate    float64 `json:"rate"`   // calls a second
	Before  Offered `json:"before"` // half of a partition's limit
	Offered Offered `json:"storm"`
	// Named is when /v1/hot-keys first had the key, and Status its status then. Steps are the changes of its shard
	// count. Times are in seconds after the start of the storm; -1 is never.
	Named  float64 `json:"named_s"`
	Status string  `json:"status,omitempty"`
	Steps  []Step  `json:"steps"`
	// Found is the number of applied calls of both phases by a strong read, -1 if it was not read. It may include
	// calls with an unknown outcome.
	Found    int   `json:"found"`
	Accepted int   `json:"accepted"`
	Calls    int64 `json:"calls"`
	Opened   int64 `json:"new_connections"`
}

// Step is a change of a shard count.
type Step struct {
	At     float64 `json:"at_s"` // when it took effect for the calls
	Shards int     `json:"shards"`
	By     string  `json:"by"`
	Why    string  `json:"why"`
}

// heatEvery is the interval of the reads of hot keys.
const heatEvery = time.Second

// stormKind is a kind of storm.
type stormKind struct {
	kind, typ, path string
	body            func(key string) any
	found           func(ctx context.Context, c *caller, key string) (int, error)
}

func (r *run) counters(ctx context.Context, _ *running, c *caller) error {
	return r.storm(ctx, c, stormKind{"counters", "counter", "/v1/counters", incrementOf, valueOf})
}

func (r *run) events(ctx context.Context, _ *running, c *caller) error {
	return r.storm(ctx, c, stormKind{"events", "entity", "/v1/events", eventOf, notCounted})
}

func eventOf(entity string) any {
	return map[string]any{"events": []any{map[string]any{"entity": entity}}}
}

// valueOf returns a counter's value by a strong read.
func valueOf(ctx context.Context, c *caller, counter string) (int, error) {
	var answer struct{ Value int }
	err := c.readRetried(ctx, readHeat, "/v1/counters?consistency=strong&name="+url.QueryEscape(counter), &answer)
	return answer.Value, err
}

// notCounted returns -1: reading all events would cost too much.
func notCounted(context.Context, *caller, string) (int, error) { return -1, nil }

// storm loads a key with half of a partition's limit, and then with more than the limit.
func (r *run) storm(ctx context.Context, c *caller, s stormKind) error {
	rate := r.Plan.Times * r.Plan.PartitionWCU
	r.say("storm of %s: %v at %g a second", s.kind, r.Plan.Storm, rate)
	key := "storm-" + s.typ
	result := &Storm{Kind: s.kind, Rate: rate, Named: -1}
	r.report.Storms = append(r.report.Storms, result)
	made, opened := c.made.Load(), c.opened.Load()
	load := func(ctx context.Context, _ int) (answer, error) {
		return c.callAPI(ctx, write, http.MethodPost, s.path, "", s.body(key), nil)
	}
	result.Before = offerCalls(ctx, r.Plan.PartitionWCU/2, r.Plan.Warm, load)
	begun := time.Now()
	over, stop := context.WithCancel(ctx)
	defer stop()
	var polling sync.WaitGroup
	polling.Go(func() { result.Named, result.Status = c.awaitNamed(over, key, begun) })
	result.Offered = offerCalls(ctx, rate, r.Plan.Storm, load)
	stop()
	polling.Wait()
	if !dynamo.Pause(ctx, r.Plan.Settle) {
		return ctx.Err()
	}
	result.Accepted = result.Before.Accepted + result.Offered.Accepted
	result.Calls, result.Opened = c.made.Load()-made, c.opened.Load()-opened
	var err error
	if result.Steps, err = c.stepsOf(ctx, s.typ, key, begun); err != nil {
		return fmt.Errorf("storm of %s: %w", s.kind, err)
	}
	if result.Found, err = s.found(ctx, c, key); err != nil {
		return fmt.Errorf("storm of %s: reading what was accepted: %w", s.kind, err)
	}
	return nil
}

// offerCalls makes calls at a rate for a time.
func offerCalls(ctx context.Context, rate float64, lasting time.Duration, call func(ctx context.Context, n int) (answer, error)) Offered {
	became := newOutcomes(lasting)
	offer(ctx, rate, lasting, func(ctx context.Context, n int, after time.Duration) {
		a, err := call(ctx, n)
		became.addAnswer(after, a, err)
	})
	return became.total()
}

// awaitNamed reads the hot keys until the key is among them.
func (c *caller) awaitNamed(ctx context.Context, key string, begun time.Time) (after float64, status string) {
	for dynamo.Pause(ctx, heatEvery) {
		var answer struct {
			Keys []struct{ Name, Status string }
		}
		if _, err := c.callAPI(ctx, readHeat, http.MethodGet, "/v1/hot-keys?since=5m&limit=20", "", nil, &answer); err != nil {
			continue // retried at the next tick
		}
		for _, k := range answer.Keys {
			if k.Name == key {
				return time.Since(begun).Seconds(), k.Status
			}
		}
	}
	return -1, ""
}

// stepsOf returns the changes of a key's shard count.
func (c *caller) stepsOf(ctx context.Context, typ, key string, begun time.Time) (steps []Step, err error) {
	var answer struct {
		History []struct {
			Time    time.Time
			Shards  int
			By, Why string
		}
	}
	if err := c.readRetried(ctx, readHeat, "/v1/shards?"+url.Values{"type": {typ}, "name": {key}}.Encode(), &answer); err != nil {
		return nil, fmt.Errorf("reading the shard count: %w", err)
	}
	for _, h := range answer.History {
		steps = append(steps, Step{h.Time.Sub(begun).Seconds(), h.Shards, h.By, h.Why})
	}
	return steps, nil
}

// Keyed is the result of a rate of calls with an Idempotency-Key, on one counter.
type Keyed struct {
	Rate    float64 `json:"rate"`
	Offered Offered `json:"calls"`
	Steps   []Step  `json:"steps"`
	Found   int     `json:"found"` // by a strong read: accepted calls, and perhaps calls with an unknown outcome
}

// keyed makes concurrent keyed calls on one counter, so that their transactions conflict; on a new one for each rate.
func (r *run) keyed(ctx context.Context, _ *running, c *caller) error {
	for _, rate := range r.Plan.Keyed {
		r.say("keyed calls of one counter: %v at %g a second", r.Plan.KeyedFor, rate)
		counter := fmt.Sprintf("keyed-%g", rate)
		result, begun := Keyed{Rate: rate}, time.Now()
		result.Offered = offerCalls(ctx, rate, r.Plan.KeyedFor, func(ctx context.Context, n int) (answer, error) {
			return c.callAPI(ctx, keyedWrite, http.MethodPost, "/v1/counters", r.record.ID+"-"+counter+"-"+strconv.Itoa(n), incrementOf(counter), nil)
		})
		if !dynamo.Pause(ctx, r.Plan.Settle) {
			return ctx.Err()
		}
		var err error
		if result.Steps, err = c.stepsOf(ctx, "counter", counter, begun); err == nil {
			result.Found, err = valueOf(ctx, c, counter)
		}
		if err != nil {
			return fmt.Errorf("keyed calls: %w", err)
		}
		r.report.Keyed = append(r.report.Keyed, result)
	}
	return nil
}
