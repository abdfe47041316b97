package hotkeys_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPartialReports checks decisions while other stream shards have not reported. A counter's unseen write shards
// count like the seen ones, since writers choose at random. For an entity the window before decides.
func TestPartialReports(t *testing.T) {
	const entity = "E#e#2026-01-05"
	for name, c := range map[string]struct {
		key   string
		first int // WCU/s of the other write shard in the first window, reported by another stream shard
		hot   int // number of windows in which write shard 0 is hot
		want  []string
		log   string // skew or changed; "" for neither
	}{
		"a counter, just got hot":            {"C#a", 0, 1, []string{"C#a 2>6"}, "changed"}, // 140 WCU/s
		"an entity, just got hot":            {entity, 0, 1, nil, ""},
		"an entity, both hot for a window":   {entity, 60, 2, []string{"E#e 2>11"}, "changed"}, // 130 WCU/s in the first one
		"an entity, one of two for a window": {entity, 1, 2, nil, "skew"},
	} {
		f := newFixture(settings())
		f.shards.set(strings.TrimSuffix(c.key, "#2026-01-05"), 2, start.Add(-time.Hour))
		for n := range c.hot {
			later := time.Duration(n) * 10 * time.Second
			f.now = start.Add(later + 10*time.Second)
			f.must(t, batch{later: later, writes: repeat(c.key+"#0", 700, 1+later.Seconds()), first: 1, final: true}.payload())
			if n == 0 {
				f.must(t, batch{writes: repeat(c.key+"#1", 10*c.first, 1), first: 1, shard: "b", final: true}.payload())
			}
		}
		logs := f.logs.String()
		skew, changed := strings.Contains(logs, "skew among"), strings.Contains(logs, "shard count changed")
		if !slices.Equal(f.shards.changes, c.want) || skew != (c.log == "skew") || changed != (c.log == "changed") {
			t.Errorf("%s: changes %v, want %v and the log %q\n%s", name, f.shards.changes, c.want, c.log, logs)
		}
	}
}

// TestRatesOfTheWindowBefore checks that a write shard's low rate in the window before is not taken for its current
// rate, and that rates from before a change do not make a key grow.
func TestRatesOfTheWindowBefore(t *testing.T) {
	f := newFixture(settings())
	f.shards.set("C#a", 2, start.Add(-time.Hour))
	f.must(t, batch{writes: repeat("C#a#1", 2, 1), first: 1, shard: "b", final: true}.payload())
	later := 10 * time.Second
	f.now = start.Add(2 * later)
	f.must(t, batch{later: later, writes: repeat("C#a#0", 750, 11), first: 1, final: true}.payload())
	if !slices.Equal(f.shards.changes, []string{"C#a 2>6"}) { // twice 75, and not 75 plus 0.2
		t.Errorf("a cold write shard: changes %v, want C#a 2>6\n%s", f.shards.changes, f.logs)
	}
	f = newFixture(settings())
	f.shards.set("E#e", 4, start.Add(later))
	f.must(t, batch{writes: even("E#e#2026-01-05", 0, 100, 100, 100), first: 1, shard: "b", final: true}.payload())
	f.now = start.Add(2 * later)
	f.must(t, batch{later: later, writes: even("E#e#2026-01-05", 75), first: 1, final: true}.payload())
	if len(f.shards.changes) > 0 {
		t.Errorf("hot write shards before a change: changes %v, want none\n%s", f.shards.changes, f.logs)
	}
}
