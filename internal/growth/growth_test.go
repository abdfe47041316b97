package growth

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/schema"
)

func TestNextAndBound(t *testing.T) {
	for _, c := range []struct{ partitions, want int }{{-1, 4}, {0, 4}, {1, 4}, {4, 16}, {64, 256}, {250, 1000}, {10_000, 1000}} {
		if got := Bound(c.partitions); got != c.want {
			t.Errorf("%d partitions: at most %d, want %d", c.partitions, got, c.want)
		}
	}
	for _, c := range []struct {
		of                 schema.Type
		count, bound, want int
	}{
		{schema.Counter, 1, 256, 4}, {schema.Limit, 4, 256, 16}, {schema.Counter, 256, 1000, 1000}, {schema.Counter, 64, 100, 100},
		{schema.Entity, 1, 256, 24}, {schema.Board, 1, 256, 24}, {schema.Sessions, 1, 256, 24}, {schema.Entity, 1, 4, 4}, {schema.Entity, 24, 256, 96},
	} {
		if got := PlacementOf(c.of).Next(c.count, c.bound); got != c.want {
			t.Errorf("%s of %d, at most %d: %d, want %d", c.of, c.count, c.bound, got, c.want)
		}
	}
}

// TestKeysAreFew: those in mind are bounded, and one that is met again and again stays.
func TestKeysAreFew(t *testing.T) {
	const most = 100
	k, now := NewKeys(most), modelEpoch
	for i := range 3 * most {
		k.Requested(Request{Key: fmt.Sprint(i), ID: uint64(i)}, now)
		if i%(most/4) == 0 {
			k.Requested(Request{Key: "hot", ID: uint64(i)}, now)
		}
		if n := len(k.young) + len(k.old); n > most {
			t.Fatalf("%d keys", n)
		}
	}
	if n := len(k.of("hot").requests); n != keptCalls {
		t.Errorf("of the key that was met again and again %d requests are left", n)
	}
	if n := len(k.of("0").requests); n != 0 {
		t.Errorf("of the first key %d requests are left", n)
	}
}

// writer is a process's writes of one key, by a clock of its own.
type writer struct {
	*Keys
	Attempt
	now   time.Time
	bound int
	next  uint64
}

func newWriter(p Placement) *writer {
	return &writer{Keys: NewKeys(MaxKeys), Attempt: Attempt{Key: "k", Placement: p, Count: 1}, now: modelEpoch, bound: 256}
}

// write makes a request of so many attempts, of which all but the last are refused, and
// the last unless it is accepted. It returns the strongest answer.
func (w *writer) write(attempts int, accepted bool) (answer Answer) {
	w.next++
	return w.writeItem(w.next, attempts, accepted)
}

func (w *writer) writeItem(id uint64, attempts int, accepted bool) (answer Answer) {
	w.At, w.Request = w.now, id
	w.Requested(Request{Key: w.Key, Placement: w.Placement, ID: id, At: w.At}, w.now)
	for i := range attempts {
		w.Refused = !accepted || i+1 < attempts
		answer = max(answer, w.Attempted(w.Attempt, w.bound, w.now))
	}
	return answer
}

func TestWhatEntitles(t *testing.T) {
	for name, c := range map[string]struct {
		placement Placement
		do        func(*writer) Answer
		want      Answer
	}{
		"three refused requests":     {Random, func(w *writer) Answer { w.write(1, false); w.write(1, false); return w.write(1, false) }, Ask},
		"one refusal":                {Random, func(w *writer) Answer { return w.write(2, true) }, Nothing},
		"one of an event's":          {Timed, func(w *writer) Answer { return w.write(5, false) }, Nothing},
		"three of events":            {Timed, func(w *writer) Answer { return w.writes(3, false) }, Ask},
		"two, one of which looked":   {Random, func(w *writer) Answer { w.write(5, false); return w.write(5, false) }, Nothing},
		"a request refused twice":    {Random, func(w *writer) Answer { return w.write(2, false) }, Look},
		"one that is tried for long": {Random, func(w *writer) Answer { w.write(1, true); w.write(1, true); return w.write(8, false) }, Look},
		"less than half of all":      {Random, func(w *writer) Answer { w.writes(6, true); w.write(2, true); return w.write(2, true) }, Look},
		"half of all":                {Random, func(w *writer) Answer { w.writes(4, true); w.write(3, true); return w.write(3, true) }, Ask},
		"an hour of success before": {Random, func(w *writer) Answer {
			w.writes(50, true)
			w.pass(time.Hour)
			w.writes(2, false)
			return w.write(1, false)
		}, Ask},
		"success three seconds before": {Random, func(w *writer) Answer {
			w.writes(8, true)
			w.pass(3 * time.Second)
			w.writes(2, false)
			return w.write(1, false)
		}, Ask},
		"requests six seconds apart":    {Random, func(w *writer) Answer { w.writes(2, false); w.pass(6 * time.Second); return w.write(5, false) }, Look},
		"one of three events refused":   {Timed, func(w *writer) Answer { w.writes(2, true); return w.write(5, false) }, Nothing},
		"two of three events refused":   {Timed, func(w *writer) Answer { w.write(1, true); w.write(3, false); return w.write(3, false) }, Ask},
		"two events":                    {Timed, func(w *writer) Answer { w.write(3, false); return w.write(3, false) }, Nothing},
		"one item again and again":      {Timed, func(w *writer) Answer { return w.again(7, 10) }, Nothing},
		"half of them one item":         {Timed, func(w *writer) Answer { w.again(7, 5); return w.writes(5, false) }, Nothing},
		"a third of them one item":      {Timed, func(w *writer) Answer { w.again(7, 3); return w.writes(6, false) }, Ask},
		"one item of a counter's":       {Random, func(w *writer) Answer { return w.again(7, 3) }, Ask},
		"a backfill":                    {Timed, func(w *writer) Answer { return w.dated(-time.Minute) }, Nothing},
		"events of nine seconds ago":    {Timed, func(w *writer) Answer { return w.dated(-9 * time.Second) }, Ask},
		"events ahead":                  {Timed, func(w *writer) Answer { return w.dated(2 * time.Second) }, Ask},
		"events of before the change":   {Timed, func(w *writer) Answer { w.Effective = w.now.Add(time.Second); return w.dated(0) }, Nothing},
		"events of the change's moment": {Timed, func(w *writer) Answer { w.Effective = w.now; return w.dated(0) }, Ask},
		"a board changed lately":        {Indexed, func(w *writer) Answer { w.Changed = w.now.Add(-59 * time.Second); return w.writes(9, false) }, Nothing},
		"a board changed a minute ago":  {Indexed, func(w *writer) Answer { w.Changed = w.now.Add(-time.Minute); return w.writes(9, false) }, Ask},
		"a counter changed just now":    {Random, func(w *writer) Answer { w.Changed = w.now; return w.writes(9, false) }, Ask},
		"at the bound":                  {Random, func(w *writer) Answer { w.Count = w.bound; return w.writes(9, false) }, Bounded},
		"beyond it":                     {Timed, func(w *writer) Answer { w.Count = w.bound + 1; return w.writes(9, false) }, Bounded},
	} {
		w := newWriter(c.placement)
		if got := c.do(w); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func (w *writer) pass(d time.Duration) { w.now = w.now.Add(d) }

func (w *writer) writes(n int, accepted bool) (answer Answer) {
	for range n {
		answer = max(answer, w.write(1, accepted))
	}
	return answer
}

func (w *writer) again(id uint64, n int) (answer Answer) {
	for range n {
		answer = max(answer, w.writeItem(id, 1, false))
	}
	return answer
}

// dated writes five events of that much later than now.
func (w *writer) dated(later time.Duration) (answer Answer) {
	for range 5 {
		w.next++
		w.At, w.Request, w.Refused = w.now.Add(later), w.next, true
		w.Requested(Request{Key: w.Key, Placement: w.Placement, ID: w.next, At: w.At}, w.now)
		answer = max(answer, w.Attempted(w.Attempt, w.bound, w.now))
	}
	return answer
}

// TestTheBoundIsSaidOnceAMinute, and while it is known a key with one write shard needs
// more than three requests.
func TestTheBoundIsSaidOnceAMinute(t *testing.T) {
	w := newWriter(Random)
	w.Count = w.bound
	said := 0
	for range 130 {
		if w.writes(3, false) == Bounded {
			said++
		}
		w.pass(time.Second)
	}
	if said != 3 {
		t.Errorf("said %d times in 130 s", said)
	}
	w.Key, w.Count = "other", 1
	if got := w.writes(9, false); got != Look {
		t.Errorf("nine requests of another key: %d", got)
	}
	if got := w.write(1, false); got != Ask {
		t.Errorf("ten: %d", got)
	}
	w.pass(tightTime)
	w.Key = "third"
	if got := w.writes(3, false); got != Ask {
		t.Errorf("three, when the bound was long ago: %d", got)
	}
}

// TestAskingGetsRarer while nothing changes, and starts anew with a change.
func TestAskingGetsRarer(t *testing.T) {
	w := newWriter(Random)
	asks := func(lasting time.Duration) (n int) {
		for end := w.now.Add(lasting); w.now.Before(end); w.pass(50 * time.Millisecond) {
			if w.write(1, false) == Ask {
				n++
				w.Asked(w.Key, w.Version, w.now)
			}
		}
		return n
	}
	if n := asks(10 * time.Second); n != 5 { // after 0.3, 0.9, 2.1, 4.5, and 9.3 s
		t.Errorf("asked %d times in ten seconds", n)
	}
	if n := asks(20 * time.Second); n != 4 {
		t.Errorf("then %d times in twenty", n)
	}
	w.Asked(w.Key, 1, w.now)
	w.Version = 1
	if got := w.writes(2, false); got != Look {
		t.Errorf("two attempts by the new count: %d", got)
	}
	w.pass(minPause)
	if n := asks(2 * time.Second); n != 3 {
		t.Errorf("by the new count %d times in two seconds", n)
	}
}

// TestAnswersAreEarned: whatever is written, an Ask comes only after what entitles to it,
// by a plain count over all that was told.
func TestAnswersAreEarned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		placement := Placement(rapid.IntRange(0, 2).Draw(t, "placement"))
		w := newWriter(placement)
		var all []told
		var requests []request
		last := time.Time{}
		for i := range rapid.IntRange(1, 80).Draw(t, "writes") {
			w.pass(time.Duration(rapid.IntRange(0, 700).Draw(t, "pause ms")) * time.Millisecond)
			if rapid.IntRange(0, 20).Draw(t, "change") == 0 {
				w.Version++
				w.Effective = w.now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "lead ms")) * time.Millisecond)
			}
			id := uint64(i)
			if placement != Random && rapid.IntRange(0, 3).Draw(t, "again") == 0 {
				id = 0
			}
			requests = append(requests, request{at: w.now, id: id})
			w.At, w.Request = w.now, id
			w.Requested(Request{Key: w.Key, Placement: placement, ID: id, At: w.At}, w.now)
			for range rapid.IntRange(1, 4).Draw(t, "attempts") {
				w.Refused = rapid.Bool().Draw(t, "refused")
				if placement != Timed || !w.At.Before(w.Effective) {
					all = append(all, told{w.now, w.Version, w.Refused, id})
				}
				got := w.Attempted(w.Attempt, w.bound, w.now)
				if got == Bounded {
					t.Fatal("it is not at the bound")
				}
				if got == Ask {
					checkEarned(t, all, w.Attempt, w.now)
					checkBusy(t, requests, placement, w.now)
					if w.now.Sub(last) < minPause {
						t.Fatalf("asked again after %v", w.now.Sub(last))
					}
					last = w.now
				}
			}
		}
	})
}

type told struct {
	at      time.Time
	version int64
	refused bool
	request uint64
}

// checkEarned counts, among all attempts, those that matter to the last.
func checkEarned(t *rapid.T, all []told, a Attempt, now time.Time) {
	tries, refused, requests := 0, 0, map[uint64]bool{}
	for i := len(all) - 1; i >= 0; i-- {
		if one := all[i]; one.version == a.Version && now.Sub(one.at) <= attemptAge && tries < keptTries {
			tries++
			if one.refused {
				refused++
			}
		}
		if all[i].refused && now.Sub(all[i].at) <= requestAge {
			requests[all[i].request] = true
		}
	}
	if tries < leastTries || 2*refused < tries || len(requests) < leastRefused || !a.Refused {
		t.Fatalf("%d of %d attempts were refused, of %d requests", refused, tries, len(requests))
	}
}

// checkBusy counts, among all requests, those that matter now.
func checkBusy(t *rapid.T, all []request, p Placement, now time.Time) {
	calls, items := 0, map[uint64]int{}
	for _, r := range all[max(0, len(all)-keptCalls):] {
		if now.Sub(r.at) <= requestAge {
			calls++
			items[r.id]++
		}
	}
	if calls < leastCalls {
		t.Fatalf("of %d requests", calls)
	}
	for id, n := range items {
		if p != Random && 2*n >= calls {
			t.Fatalf("%d of %d requests are of item %d", n, calls, id)
		}
	}
}
