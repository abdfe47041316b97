package rebuild_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
)

func nameOf(t schema.Target) string {
	if t.Base.Type == schema.Counter {
		return t.Base.String()
	}
	return schema.EventTarget(t.Base.Name, t.Bucket, t.Start)
}

// TestAllTargetsAreFoundOnce checks that All yields each target once: those with items, with summaries
// and with both. Rules and the range bound the rollups.
func TestAllTargetsAreFoundOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules = rules(t, `[{"every":"1h"},{"prefix":"daily/","every":"1d"}]`)
	at := hour()
	r.pin(t, "C#both", 100)
	r.pin(t, "E#hourly", 5)
	for n := range 100 {
		r.source(t, "both", n, 1, 1)
	}
	r.addTo(t, "an item#", 1, 1)
	r.add(t, "never grown", 1)
	r.add(t, "damaged", 1)
	r.update(t, r.names.Items, "C#damaged#0", "-", "SET #value = :v", item{":v": dynamo.String("x")})
	r.update(t, r.names.Rollups, "C#a summary#0", "-", "SET v = :v", item{":v": num(1)})
	r.put(t, "hourly", at, 10)
	r.put(t, "hourly", at.Add(time.Hour), 10)
	r.put(t, "daily/#1", at, 10)
	r.put(t, "later", at.Add(2*time.Hour), 1)
	r.fold(t)
	r.put(t, "items only", at, 1)
	pk, sk := schema.RollupKey("summary only", shard.Hour, at, "s")
	r.update(t, r.names.Rollups, pk, sk, "SET v = :v", item{":v": num(1)})
	pk, sk = schema.RollupKey("ruled otherwise", shard.Day, at, "s")
	r.update(t, r.names.Rollups, pk, sk, "SET v = :v", item{":v": num(1)})
	r.update(t, r.names.Events, "E#another day#"+at.Format(time.DateOnly)+"#0", "9999-12-31T23:59:59.999Z#x", "SET v = :v", item{":v": num(1)})
	r.update(t, r.names.Items, "H#C#x", "2026-01-05T12:00:00.123Z#w", "SET v = :v", item{":v": num(1)})
	r.update(t, r.names.Events, "E#probe only#"+at.Format(time.DateOnly)+"#0", schema.ProbeSK, "SET v = :v", item{":v": num(1)})

	found := map[string]int{}
	var mu sync.Mutex
	collect := func(target schema.Target) error {
		mu.Lock()
		defer mu.Unlock()
		found[nameOf(target)]++
		return nil
	}
	all := []string{"C#both", "C#an item#", "C#a summary", "C#damaged"}
	inRange := []string{
		schema.EventTarget("hourly", shard.Hour, at), schema.EventTarget("hourly", shard.Hour, at.Add(time.Hour)),
		schema.EventTarget("items only", shard.Hour, at), schema.EventTarget("summary only", shard.Hour, at),
	}
	outside := []string{schema.EventTarget("later", shard.Hour, at.Add(2*time.Hour)), schema.EventTarget("daily/#1", shard.Day, at)}
	for bounds, want := range map[rebuild.Range][]string{
		{}:                                    slices.Concat(all, inRange, outside),
		{From: at, To: at.Add(2 * time.Hour)}: slices.Concat(all, inRange),
	} {
		clear(found)
		require.NoError(t, r.checker(nil).All(bounds)(t.Context(), collect))
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
			t.Errorf("%+v: found %q, want %q", bounds, got, want)
		}
		for name, n := range found {
			if n != 1 {
				t.Errorf("%s was found %d times", name, n)
			}
		}
	}
	stop := errors.New("enough")
	if err := r.checker(nil).All(rebuild.Range{})(t.Context(), func(schema.Target) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("All returned %v, want the callback's error", err)
	}
}

// TestBucketsOfAnEntity checks which buckets Targets returns for a range, a rule and a retention.
func TestBucketsOfAnEntity(t *testing.T) {
	r := &rig{rules: rules(t, `[{"every":"1h"},{"prefix":"d","every":"1d"},{"prefix":"d/x","every":"1h"}]`)}
	now := time.Date(2026, 1, 5, 13, 20, 0, 0, time.UTC)
	a := func(retention time.Duration) *rebuild.Checker {
		return rebuild.New(rebuild.Options{Names: schema.NamesFor(""), Rules: r.rules, EventRetention: retention, Now: func() time.Time { return now }}, nil)
	}
	for _, c := range []struct {
		entity      string
		retention   time.Duration
		r           rebuild.Range
		first, last string
		n           int
	}{
		{"e", 48 * time.Hour, rebuild.Range{}, "2026-01-03T00", "2026-01-05T13", 62},
		{"d", 48 * time.Hour, rebuild.Range{}, "2026-01-03", "2026-01-05", 3},
		{"e", 0, rebuild.Range{From: now}, "", "", 0},
		{"e", 0, rebuild.Range{From: now.Add(-time.Hour)}, "2026-01-05T13", "2026-01-05T13", 1},
		{"e", time.Hour, rebuild.Range{From: now.Add(-48 * time.Hour), To: now}, "2026-01-03T14", "2026-01-05T12", 47},
		{"d/x", time.Hour, rebuild.Range{From: now.Add(-2 * time.Hour), To: now.Add(-time.Hour)}, "2026-01-05T12", "2026-01-05T12", 0},
	} {
		list, err := a(c.retention).Targets(schema.BaseKey{Type: schema.Event, Name: c.entity}, c.r)
		if err != nil || len(list) != c.n {
			t.Errorf("%+v: %d buckets, %v", c, len(list), err)
			continue
		}
		if c.n > 0 && (list[0].Bucket.Label(list[0].Start) != c.first || list[c.n-1].Bucket.Label(list[c.n-1].Start) != c.last) {
			t.Errorf("%+v: from %v to %v", c, list[0].Start, list[c.n-1].Start)
		}
	}
	if _, err := a(0).Targets(schema.BaseKey{Type: schema.Event, Name: "e"}, rebuild.Range{}); err == nil || !strings.Contains(err.Error(), "--from") {
		t.Errorf("without a start: %v", err)
	}
	if _, err := a(0).Targets(schema.BaseKey{Type: schema.Event, Name: "e"}, rebuild.Range{From: now.AddDate(-12, 0, 0)}); err == nil || !strings.Contains(err.Error(), "at most 100000") {
		t.Errorf("too many: %v", err)
	}
	r.rules = rules(t, `[]`)
	if _, err := a(0).Targets(schema.BaseKey{Type: schema.Event, Name: "e"}, rebuild.Range{From: now}); err == nil || !strings.Contains(err.Error(), "no rule") {
		t.Errorf("without a rule: %v", err)
	}
}
