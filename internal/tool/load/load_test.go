package load_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/load"
)

// TestMain fails if a test leaves a goroutine behind for longer than a slow machine needs to end it.
func TestMain(m *testing.M) {
	code := m.Run()
	leaked := goleak.Find()
	for end := time.Now().Add(10 * time.Second); leaked != nil && time.Now().Before(end); {
		leaked = goleak.Find()
	}
	if leaked != nil && code == 0 {
		fmt.Fprintln(os.Stderr, leaked)
		code = 1
	}
	os.Exit(code)
}

func generated(t *testing.T, kind load.Workload, count int) load.Source {
	t.Helper()
	return load.Synthetic{Workload: kind, Seed: 1, Count: count, Keys: 20}.Source()
}

func logged(t *testing.T, count int) load.Source {
	t.Helper()
	source, err := load.LogSource("../../../events/access.log.gz", count)
	require.NoError(t, err)
	return source
}

// run loads a fake and verifies the result, with a short wait.
func run(t *testing.T, f *fake, o load.Options) load.Result {
	t.Helper()
	o.Target, o.Verify = f.URL, true
	o.Settle = 150 * time.Millisecond // for a second comparison, 100 ms after the first
	result, err := load.Run(t.Context(), o)
	require.NoError(t, err)
	return result
}

func wantClean(t *testing.T, r load.Result, requests int) {
	t.Helper()
	if r.Requests != requests || r.Accepted != requests || r.Rejected != 0 || r.Unknown != 0 {
		t.Errorf("%d requests: %d accepted, %d rejected, %d unknown; want %d accepted", r.Requests, r.Accepted, r.Rejected, r.Unknown, requests)
	}
	wantDifferences(t, r)
}

// wantDifferences checks the number of differences, and that each contains its text.
func wantDifferences(t *testing.T, r load.Result, texts ...string) {
	t.Helper()
	if r.Verify.Differences != len(texts) {
		t.Errorf("%d differences, want %d: %q", r.Verify.Differences, len(texts), r.Verify.First)
		return
	}
	for i, text := range slices.Sorted(slices.Values(texts)) {
		if !strings.Contains(r.Verify.First[i], text) {
			t.Errorf("difference %q, want %q", r.Verify.First[i], text)
		}
	}
}

// TestLogIsSentAndVerified checks that each request of a log becomes an increment and an event.
func TestLogIsSentAndVerified(t *testing.T) {
	f := newFake(t)
	source := logged(t, 300)
	result := run(t, f, load.Options{Source: source})
	wantClean(t, result, 300)
	counts, entities := map[string]int64{}, map[string]int{}
	for r := range source.Requests() {
		counts[r.Counter()]++
		entities[r.Entity()]++
	}
	if !maps.Equal(f.counters, counts) {
		t.Errorf("counters = %v, want %v", f.counters, counts)
	}
	for entity, events := range f.events {
		if len(events) != entities[entity] {
			t.Errorf("%d events of %s, want %d", len(events), entity, entities[entity])
		}
	}
}

// TestLaterRunsAreVerified checks that values of earlier loads are no differences.
func TestLaterRunsAreVerified(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	wantClean(t, run(t, f, load.Options{Source: logged(t, 200)}), 200)
	wantClean(t, run(t, f, load.Options{Source: logged(t, 100)}), 100)
}

// TestFaultsAreOutlasted checks that retries outlast faults: all if increments have keys, and for others those that
// certainly applied nothing.
func TestFaultsAreOutlasted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.fault = sometimes(3, full, busy, down, broken, lostAfter, lostFore, unsure, unsureNot, downUnsure)
	result := run(t, f, load.Options{Source: generated(t, load.FlashCrowd, 300)})
	wantClean(t, result, 300)
	f = newFake(t)
	f.fault = sometimes(3, full, busy, down)
	plain, err := load.Run(t.Context(), load.Options{Target: f.URL, Source: generated(t, load.FlashCrowd, 300)})
	if err != nil || plain.Accepted != 300 || plain.Retries == 0 || result.Retries == 0 {
		t.Errorf("%+v, %v; want 300 accepted after retries", plain, err)
	}
}

// TestUnknownOutcomesWithoutKey checks that an increment without a key is not retried after an ambiguous result.
func TestUnknownOutcomesWithoutKey(t *testing.T) {
	t.Parallel()
	for _, lost := range []fault{broken, lostAfter, lostFore, unsure, unsureNot, downUnsure} {
		f := newFake(t)
		f.fault = func(path string) fault {
			if path == "/v1/counters" {
				return lost
			}
			return none
		}
		result, err := load.Run(t.Context(), load.Options{Target: f.URL, Source: generated(t, load.Zipf, 20)})
		if err != nil || result.Unknown != 20 || f.unkeyed("/v1/counters") != 20 {
			t.Errorf("fault %d: %+v after %d calls, %v; want 20 unknown after 20", lost, result, f.unkeyed("/v1/counters"), err)
		}
	}
}

// TestRejectionAfterAmbiguousResult checks that an event which may have been written stays unknown although later attempts
// are rejected.
func TestRejectionAfterAmbiguousResult(t *testing.T) {
	t.Parallel()
	for _, first := range []fault{unsure, unsureNot, lostAfter, downUnsure} {
		f := newFake(t)
		calls := map[string]int{}
		f.fault = func(path string) fault {
			if calls[path]++; path == "/v1/events" && calls[path] == 1 {
				return first
			} else if path == "/v1/events" {
				return full
			}
			return none
		}
		result := run(t, f, load.Options{Source: generated(t, load.Uniform, 1), Retries: 2})
		if result.Unknown != 1 || f.unkeyed("/v1/events") != 3 {
			t.Errorf("fault %d: %+v after %d calls, want 1 unknown after 3", first, result, f.unkeyed("/v1/events"))
		}
		wantDifferences(t, result)
	}
}

func TestRetriesAreBounded(t *testing.T) {
	f := newFake(t)
	f.fault = func(path string) fault {
		if path == "/v1/events" {
			return busy
		}
		return none
	}
	result := run(t, f, load.Options{Source: generated(t, load.Uniform, 5), Retries: 2})
	if result.Rejected != 5 || result.Accepted != 0 || f.unkeyed("/v1/events") != 15 {
		t.Errorf("%d rejected after %d calls, want 5 after 15", result.Rejected, f.unkeyed("/v1/events"))
	}
	wantDifferences(t, result)
}

// TestVerifyFindsDifferences spoils a counter or an event after its write. Verification must report it.
func TestVerifyFindsDifferences(t *testing.T) {
	first := logged(t, 1)
	const path = "/presentations/logstash-monitorama-2013/images/kibana-search.png"
	victim := func(f *fake) map[string]fakeEvent { return f.events["83.149.9.216"] }
	change := func(f *fake, how func(e fakeEvent)) {
		for _, e := range victim(f) {
			how(e)
		}
	}
	for name, c := range map[string]struct {
		spoil func(*fake)
		want  []string
	}{
		"wrong summary": {
			func(f *fake) { f.summary = func(name string, v int64) int64 { return v + int64(len(name)/40) } },
			[]string{fmt.Sprintf("counter %q: summary 2, write shards 1, want 1", path)},
		},
		"lost increment": {
			func(f *fake) { f.counters[path] = 0 },
			[]string{fmt.Sprintf("counter %q: summary 0, write shards 0, want 1", path)},
		},
		"missing event": {
			func(f *fake) { clear(victim(f)) },
			[]string{`of "83.149.9.216" at 2015-05-17T10:05:03Z: accepted, but missing`},
		},
		"other data": {
			func(f *fake) {
				change(f, func(e fakeEvent) { e.Data = json.RawMessage(`{"method":"PUT"}`); f.put("83.149.9.216", e) })
			},
			[]string{`data {"method":"PUT"}, sent {Method:GET`},
		},
		"more data": {
			func(f *fake) {
				change(f, func(e fakeEvent) {
					e.Data = bytes.Replace(e.Data, []byte("{"), []byte(`{"x":1,`), 1)
					f.put("83.149.9.216", e)
				})
			},
			[]string{`data {"x":1,`},
		},
		"unknown event": {
			func(f *fake) { change(f, func(e fakeEvent) { e.ID = "stray"; f.put("83.149.9.216", e) }) },
			[]string{`event "stray" of "83.149.9.216" at 2015-05-17T10:05:03Z: stored, but was not accepted`},
		},
		"other time": {
			func(f *fake) {
				change(f, func(e fakeEvent) {
					clear(victim(f))
					e.Time = e.Time.Add(time.Second)
					f.put("83.149.9.216", e)
				})
			},
			[]string{"accepted, but missing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.onWrite = func(string) {
				if len(f.events) > 0 && f.counters[path] == 1 {
					c.spoil(f)
				}
			}
			wantDifferences(t, run(t, f, load.Options{Source: first}), c.want...)
		})
	}
}

func TestCancelEndsTheLoad(t *testing.T) {
	f := newFake(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	written := 0
	f.onWrite = func(string) {
		if written++; written == 200 {
			cancel(fmt.Errorf("enough"))
		}
	}
	result, err := load.Run(ctx, load.Options{Target: f.URL, Source: generated(t, load.Uniform, 10_000)})
	if err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("error = %v, want the context's cause", err)
	}
	if result.Requests == 0 || result.Requests == 10_000 {
		t.Errorf("%d of 10,000 requests, want some", result.Requests)
	}
}

// TestCountersOnly checks that a load of counters sends no events.
func TestCountersOnly(t *testing.T) {
	f := newFake(t)
	result, err := load.Run(t.Context(), load.Options{Target: f.URL, Source: generated(t, load.Viral, 50), CountersOnly: true})
	if err != nil || result.Accepted != 50 {
		t.Fatalf("result %+v, %v; want 50 accepted", result, err)
	}
	if len(f.events) != 0 || len(f.counters) != 1 || f.counters["/viral/0"] != 50 {
		t.Errorf("the events are %v and the counters %v, want one counter of 50", f.events, f.counters)
	}
}
