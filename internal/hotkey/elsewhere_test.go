package hotkey_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSiblingsElsewhere: write shards on other stream shards count towards the
// need, and what looks like skew here may be none.
func TestSiblingsElsewhere(t *testing.T) {
	f := newFixture(settings())
	f.shards.set("C#a", 4, start.Add(-time.Hour))
	var others writes
	for n := 1; n < 4; n++ {
		others = append(others, repeat(fmt.Sprintf("C#a#%d", n), 600, 1)...)
	}
	f.must(t, batch{writes: others, first: 1, shard: "b", final: true}.payload())
	if len(f.shards.changes) > 0 {
		t.Fatalf("changes %v", f.shards.changes)
	}
	f.must(t, batch{writes: repeat("C#a#0", 700, 1), first: 1, final: true}.payload())
	if !slices.Equal(f.shards.changes, []string{"C#a 4>10"}) { // 250 units a second
		t.Errorf("changes %v", f.shards.changes)
	}
	f = newFixture(settings())
	f.shards.set("C#a", 4, start.Add(-time.Hour))
	f.table.failQuery = errPut
	f.must(t, batch{writes: repeat("C#a#0", 700, 1), first: 1, final: true}.payload())
	if logs := f.logs.String(); !slices.Equal(f.shards.changes, []string{"C#a 4>12"}) || !strings.Contains(logs, "other stream shards unknown") {
		t.Errorf("changes %v, logs:\n%s", f.shards.changes, logs)
	}
}

// TestSkewElsewhere: write shards of other stream shards report a window only when it
// is over. Until then one of a counter is taken to be like those that are seen, as
// writers choose it at random; of an entity, the window before tells.
func TestSkewElsewhere(t *testing.T) {
	const entity = "E#e#2026-01-05"
	for name, c := range map[string]struct {
		key   string
		first int // units a second that the other stream shard then reports of the first window
		hot   int // windows in which this one's is
		want  []string
		log   string
	}{
		"a counter, just got hot":            {"C#a", 0, 1, []string{"C#a 2>6"}, "changed"}, // 140 a second
		"an entity, just got hot":            {entity, 0, 1, nil, ""},
		"an entity, both hot for a window":   {entity, 60, 2, []string{"E#e 2>12"}, "changed"},
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
			t.Errorf("%s: changes %v, want %v\n%s", name, f.shards.changes, c.want, logs)
		}
	}
}

// TestFiguresOfTheWindowBefore are none of this one's: what was on fewer write shards
// then neither is skew now, nor counts again.
func TestFiguresOfTheWindowBefore(t *testing.T) {
	f := newFixture(settings())
	f.shards.set("C#a", 2, start.Add(-time.Hour))
	f.must(t, batch{writes: repeat("C#a#1", 2, 1), first: 1, shard: "b", final: true}.payload())
	later := 10 * time.Second
	f.now = start.Add(2 * later)
	f.must(t, batch{later: later, writes: repeat("C#a#0", 750, 11), first: 1, final: true}.payload())
	if !slices.Equal(f.shards.changes, []string{"C#a 2>6"}) { // twice 75, and not 75 and what was 0.2
		t.Errorf("a cold one: changes %v\n%s", f.shards.changes, f.logs)
	}

	f = newFixture(settings())
	f.shards.set("C#a", 16, start.Add(later))
	f.must(t, batch{writes: even("C#a", 0, 100, 100, 100), first: 1, shard: "b", final: true}.payload())
	f.now = start.Add(2 * later)
	f.must(t, batch{later: later, writes: writes{seen("C#a", 11, "w", 300, 3, 1)}, first: 1, final: true}.payload())
	if len(f.shards.changes) > 0 { // 12 would do for 300 a second
		t.Errorf("hot ones before a change: changes %v\n%s", f.shards.changes, f.logs)
	}
}

// TestBurstsOnOneWriteShard of an entity, a minute apart, grow nothing.
func TestBurstsOnOneWriteShard(t *testing.T) {
	f := newFixture(settings())
	f.shards.set("E#e", 8, start.Add(-time.Hour))
	for minute := range 3 {
		for window := range 2 {
			later := time.Duration(minute)*time.Minute + time.Duration(window)*10*time.Second
			f.must(t, batch{later: later, writes: writes{{key: "other", at: 1 + later.Seconds()}}, first: 1, shard: "b", final: true}.payload())
			f.now = start.Add(later + 10*time.Second)
			f.must(t, batch{later: later, writes: repeat("E#e#2026-01-05#3", 800, 1+later.Seconds()), first: 1, final: true}.payload())
		}
	}
	if len(f.shards.changes) > 0 || strings.Count(f.logs.String(), "skew among") != 3 {
		t.Errorf("changes %v\n%s", f.shards.changes, f.logs)
	}
}
