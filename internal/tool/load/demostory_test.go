package load

import (
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// measuredOf returns the measurements of a ramp of 60 s. Its hottest write shard has these WCU/s in the windows.
func measuredOf(heaviest ...float64) *measured {
	m := &measured{begin: noon, end: noon.Add(time.Minute), hotWCU: 14, throttled: make([]int64, 60), load: Result{Requests: 100, Accepted: 95, Rejected: 5, Retries: 3}}
	for _, wcu := range heaviest {
		m.heaviest = append(m.heaviest, rampHeat{wcu, 1})
	}
	return m
}

func TestStoryOfACure(t *testing.T) {
	m := measuredOf(12, 18, 17, 9, 3, 2)
	m.verdict = noon.Add(21 * time.Second)
	m.throttled[25], m.throttled[33] = 4, 1
	m.changes = []mapChange{{noon.Add(23 * time.Second), 4, "hotkeys"}, {noon.Add(28 * time.Second), 16, "ingest"}}
	s := m.story()
	if s.Err() != nil || *s.HotAfter != 21 || *s.FirstThrottle != 25 || *s.CoolAfter != 34 || s.CoolWindows != 2 || s.CoolWCU != 3 || s.ShardsAfter != 16 {
		t.Errorf("%v: %+v", s.Err(), s)
	}
	for i, want := range []string{
		"Hot after 21 s, when the detector named it; first throttled write after 25 s; hottest write shard 18.0 of 20 WCU/s",
		"Write shards: from 1 to 4 after 23 s (by hotkeys), 16 after 28 s (by ingest)",
		"Throttled: 5.0% of the counter's write attempts (5 of 100); 3 requests sent again, 5 of 100 rejected",
		"Cool after 34 s: no write was throttled in the 2 windows that followed; hottest write shard 3.0 of 20 WCU/s",
	} {
		if got := s.Lines()[i]; got != want {
			t.Errorf("line %d is\n%s\nwant\n%s", i+1, got, want)
		}
	}
}

func TestStoryBeginsWithAThrottleBeforeTheVerdict(t *testing.T) {
	m := measuredOf(20, 3, 2, 2, 2, 2)
	m.verdict, m.throttled[1] = noon.Add(11*time.Second), 1
	s := m.story()
	if s.Err() != nil || *s.HotAfter != 1 || *s.CoolAfter != 10 || !strings.Contains(s.Lines()[0], "when the first write was throttled") {
		t.Errorf("%v: %q", s.Err(), s.Lines())
	}
}

// TestStoryOfAnEarlierDemosCounter checks the count before the ramp, and the advice if the counter stayed cold.
func TestStoryOfAnEarlierDemosCounter(t *testing.T) {
	m := measuredOf(2, 2, 2, 2, 2, 2)
	m.shardsBefore = 64
	s := m.story()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "another --prefix") || s.ShardsAfter != 64 || s.Lines()[1] != "Write shards: 64, never changed" {
		t.Errorf("%v: %q", err, s.Lines())
	}
}

// TestStoryOfABusyMachine checks that more than 2 % of calls with an unknown outcome are an error, also if the key has cooled.
func TestStoryOfABusyMachine(t *testing.T) {
	m := measuredOf(18, 3, 3, 3, 3, 3)
	m.verdict = noon
	for unknown, busy := range map[int]bool{0: false, 20: false, 21: true, 1000: true} {
		m.load = Result{Requests: 1000, Accepted: 1000 - unknown, Unknown: unknown}
		s := m.story()
		if err := s.Err(); busy != (err != nil && strings.HasPrefix(err.Error(), "this machine is too busy: ")) {
			t.Errorf("%d of 1,000 calls have an unknown outcome: %v", unknown, err)
		}
	}
}

// TestStoriesWithoutCure checks the errors of ramps without heat, and with heat or throttles to the end. A last window
// that was not fully counted is an error too.
func TestStoriesWithoutCure(t *testing.T) {
	hot := func(m *measured) *measured { m.verdict = noon; return m }
	late := hot(measuredOf(18, 3, 3, 3, 3, 3))
	late.throttled[59] = 1
	unread := hot(measuredOf(18, 3, 3, 3, 3, 3))
	unread.heaviest[5].covered = 0.5
	for name, m := range map[string]*measured{
		"never became hot": measuredOf(9, 9, 9, 9, 9, 9), "did not cool": hot(measuredOf(18, 18, 18, 18, 18, 18)),
		"did not cool before": late, "did not cool before the end": unread,
	} {
		s := m.story()
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), name) || s.CoolAfter != nil || len(s.Lines()) != 4 {
			t.Errorf("error %v, want %q; the lines are %q", err, name, s.Lines())
		}
	}
}
