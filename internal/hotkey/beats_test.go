package hotkey_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// TestBeatsAreBounded: of more keys than get beats, some get theirs for two quiet
// periods, and each has its turn.
func TestBeatsAreBounded(t *testing.T) {
	f := newFixture(settings())
	for i := range 5 {
		f.shards.set(fmt.Sprint("C#", i), 900, start.Add(-100*time.Hour))
	}
	turns := map[string]int{}
	for range 40 {
		f.now = f.now.Truncate(20 * time.Minute).Add(20 * time.Minute)
		if got := f.task(t); got != (taskAnswer{Keys: 2, Beats: 1800}) {
			t.Fatalf("got %+v", got)
		}
		first := slices.Sorted(maps.Keys(f.items.puts))
		clear(f.items.puts)
		f.now = f.now.Add(19 * time.Minute)
		f.task(t)
		if later := slices.Sorted(maps.Keys(f.items.puts)); !slices.Equal(first, later) {
			t.Fatal("a turn ends early")
		}
		clear(f.items.puts)
		for _, pk := range first {
			turns[pk[:3]]++
		}
	}
	if len(turns) != 5 {
		t.Errorf("turns %v", turns)
	}
}

// TestQuietTimes: a schedule, which has whole minutes, runs often enough to prove any
// quiet time.
func TestQuietTimes(t *testing.T) {
	for _, quiet := range []time.Duration{12 * time.Minute, 13 * time.Minute, 15 * time.Minute, 16 * time.Minute, 24*time.Minute + time.Second, time.Hour} {
		s := settings()
		s.Quiet, s.HeatRetention = quiet, 24*time.Hour
		f := newFixture(s)
		f.shards.set("C#a", 8, start.Add(-time.Hour))
		every := s.TaskInterval()
		if every%time.Minute != 0 || every < quiet/12 {
			t.Errorf("quiet for %v: a task every %v", quiet, every)
		}
		shrunk := life{fixture: f, every: every}.run(t, int((quiet + 30*time.Minute).Minutes()))
		if took := shrunk.Sub(start); took < quiet || took > quiet+15*time.Minute {
			t.Errorf("quiet for %v: shrunk after %v", quiet, took)
		}
	}
}
