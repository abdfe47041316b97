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

// TestSkewElsewhere: write shards of other stream shards, which report a window only
// when it is over, are no skew while nothing is known of them; the first window in
// which the key was hot, and which all have reported, tells.
func TestSkewElsewhere(t *testing.T) {
	hour, second := start.Add(-time.Hour), start.Add(-time.Second) // which is too soon to change again in the first window
	for name, c := range map[string]struct {
		since   time.Time // two write shards
		other   string    // what the other stream shard sees in the first window
		windows int
		want    []string
	}{
		"just got hot":            {hour, "C#b#0", 1, []string{"C#a 2>6"}}, // 140 a second
		"both hot for a window":   {second, "C#a#1", 2, []string{"C#a 2>6"}},
		"one of two for a window": {second, "C#b#0", 2, nil},
	} {
		f := newFixture(settings())
		f.shards.set("C#a", 2, c.since)
		f.must(t, batch{writes: repeat(c.other, 600, 1), first: 1, shard: "b", final: true}.payload())
		for n := range c.windows {
			later := time.Duration(n) * 10 * time.Second
			f.now = start.Add(later)
			f.must(t, batch{later: later, writes: repeat("C#a#0", 700, 1+later.Seconds()), first: 1, final: true}.payload())
		}
		if skew := strings.Contains(f.logs.String(), "skew"); !slices.Equal(f.shards.changes, c.want) || skew != (c.want == nil) {
			t.Errorf("%s: changes %v, want %v\n%s", name, f.shards.changes, c.want, f.logs)
		}
	}
}
