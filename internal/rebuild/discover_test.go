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
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/require"
)

func nameOf(t schema.Target) string {
	if t.Base.Type == schema.Counter {
		return t.Base.String()
	}
	return schema.EventTarget(t.Base.Name, t.Hour)
}

// TestAllTargetsAreFoundOnce checks that All yields each target once: those with items, with summaries
// and with both. The range bounds the rollups, and there are none if they are off.
func TestAllTargetsAreFoundOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
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
	r.put(t, "later", at.Add(2*time.Hour), 1)
	r.fold(t)
	r.put(t, "items only", at, 1)
	pk, sk := schema.RollupKey("summary only", at, "s")
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
		schema.EventTarget("hourly", at), schema.EventTarget("hourly", at.Add(time.Hour)),
		schema.EventTarget("items only", at), schema.EventTarget("summary only", at),
	}
	outside := []string{schema.EventTarget("later", at.Add(2*time.Hour))}
	for _, c := range []struct {
		set    func(*rebuild.Options)
		bounds rebuild.Range
		want   []string
	}{
		{nil, rebuild.Range{}, slices.Concat(all, inRange, outside)},
		{nil, rebuild.Range{From: at, To: at.Add(2 * time.Hour)}, slices.Concat(all, inRange)},
		{func(o *rebuild.Options) { o.Rollups = false }, rebuild.Range{}, all},
	} {
		clear(found)
		require.NoError(t, r.checker(c.set).All(c.bounds)(t.Context(), collect))
		want := slices.Sorted(slices.Values(c.want))
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
			t.Errorf("%+v: found %q, want %q", c.bounds, got, want)
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

// TestBucketsOfAnEntity checks which buckets Targets returns for a range and a retention.
func TestBucketsOfAnEntity(t *testing.T) {
	now := time.Date(2026, 1, 5, 13, 20, 0, 0, time.UTC)
	o := rebuild.Options{Names: schema.NamesFor(""), Rollups: true, Now: func() time.Time { return now }}
	e := schema.BaseKey{Type: schema.Event, Name: "e"}
	a := func(retention time.Duration) *rebuild.Checker {
		o.EventRetention = retention
		return rebuild.New(o, nil)
	}
	for _, c := range []struct {
		retention   time.Duration
		r           rebuild.Range
		first, last string
		n           int
	}{
		{48 * time.Hour, rebuild.Range{}, "2026-01-03T00", "2026-01-05T13", 62},
		{0, rebuild.Range{From: now}, "", "", 0},
		{0, rebuild.Range{From: now.Add(-time.Hour)}, "2026-01-05T13", "2026-01-05T13", 1},
		{time.Hour, rebuild.Range{From: now.Add(-48 * time.Hour), To: now}, "2026-01-03T14", "2026-01-05T12", 47},
		{time.Hour, rebuild.Range{From: now.Add(-2 * time.Hour), To: now.Add(-time.Hour)}, "2026-01-05T12", "2026-01-05T12", 0},
	} {
		list, err := a(c.retention).Targets(e, c.r)
		if err != nil || len(list) != c.n {
			t.Errorf("%+v: %d buckets, %v", c, len(list), err)
			continue
		}
		if c.n > 0 && (parts.BucketFor(list[0]).Label() != c.first || parts.BucketFor(list[c.n-1]).Label() != c.last) {
			t.Errorf("%+v: from %v to %v", c, list[0].Hour, list[c.n-1].Hour)
		}
	}
	if _, err := a(0).Targets(e, rebuild.Range{}); err == nil || !strings.Contains(err.Error(), "--from") {
		t.Errorf("without a start: %v", err)
	}
	if _, err := a(0).Targets(e, rebuild.Range{From: now.AddDate(-12, 0, 0)}); err == nil || !strings.Contains(err.Error(), "at most 100000") {
		t.Errorf("too many: %v", err)
	}
	o.Rollups = false
	if _, err := a(0).Targets(e, rebuild.Range{From: now}); err == nil || !strings.Contains(err.Error(), "are not rolled up") {
		t.Errorf("without rollups: %v", err)
	}
}
