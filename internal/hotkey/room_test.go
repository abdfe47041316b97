package hotkey_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
)

// TestManySightedLimits take no longer than as many counters: each is looked for once.
func TestManySightedLimits(t *testing.T) {
	f := newFixture(settings())
	var all writes
	for i := range 1000 {
		all = append(all, write{key: fmt.Sprintf("R#k%d#60#1767571200#0", i), at: 1}, seen(fmt.Sprint("R#k", i), 1, "w", 5, 0, 1))
	}
	f.must(t, batch{writes: all, first: 1, final: true}.payload())
	saturated := 0
	for _, row := range f.rows(t) {
		if row.Status == heat.Saturated && strings.HasSuffix(row.Key, "#60#1767571200#0") {
			saturated++
		}
	}
	if saturated < heat.MaxKeys {
		t.Errorf("%d limits are saturated", saturated)
	}
}

// TestManyWriters: what they tell leaves room for answers.
func TestManyWriters(t *testing.T) {
	f := newFixture(settings())
	f.now = start.Add(10 * time.Second)
	all := repeat("C#hot#0", 800, 1)
	for key := range 60 {
		for writer := range 100 {
			all = append(all, seen(fmt.Sprint("C#", key), 1, fmt.Sprint("w", writer), 50, 0, 1))
		}
	}
	f.must(t, batch{writes: all, first: 1, final: true}.payload())
	if n := len(f.shards.changes); n < 40 || !slices.Contains(f.shards.changes, "C#hot 1>4") {
		t.Errorf("%d changes: %v", n, f.shards.changes)
	}
}

// TestMoreAnswersThanRoom: a change is made all the same, and advice not given again.
func TestMoreAnswersThanRoom(t *testing.T) {
	s := settings()
	s.TopK = 100
	f := newFixture(s)
	var all writes
	for key := range 30 {
		all = append(all, repeat(fmt.Sprintf("C#%s%d#0", strings.Repeat("n", 500), key), 800, 1)...)
	}
	state := f.must(t, batch{writes: all, first: 1}.payload())
	f.must(t, batch{state: state, final: true}.payload())
	if n := len(f.shards.changes); n != 30 {
		t.Errorf("%d changes", n)
	}
}

// TestManySightings: what has no room is said to be missing, and the others count.
func TestManySightings(t *testing.T) {
	f := newFixture(settings())
	var all writes
	for i := range 1000 {
		all = append(all, seen(schema.BaseKey{Type: schema.Counter, Name: strings.Repeat("n", 400) + fmt.Sprint(i)}.String(), 1, "w", 50, 0, 0))
	}
	deliver(t, f, all, 100)
	for _, item := range parsed(t, f) {
		if n := len(item.Sightings); n < 100 || uint64(n)+item.Hidden != 1000 {
			t.Errorf("%d sightings, %d hidden", n, item.Hidden)
		}
	}
}
