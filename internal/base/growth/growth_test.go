package growth

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestNextAndBound checks the bound of a table with some partitions, and the count that follows a key's.
func TestNextAndBound(t *testing.T) {
	for _, c := range []struct{ partitions, want int }{{-1, 4}, {0, 4}, {1, 4}, {4, 16}, {64, 256}, {249, 996}, {250, 1000}, {10_000, 1000}} {
		if got := Bound(c.partitions); got != c.want {
			t.Errorf("%d partitions: bound %d, want %d", c.partitions, got, c.want)
		}
	}
	for _, c := range []struct {
		of                 schema.Kind
		count, bound, want int
	}{
		{schema.Counter, 1, 256, 4}, {schema.Limit, 4, 256, 16}, {schema.Counter, 256, 1000, 1000}, {schema.Counter, 64, 100, 100}, {schema.Counter, 600, 1000, 1000},
		{schema.Event, 1, 256, 24}, {schema.Board, 1, 256, 24}, {schema.Session, 1, 256, 24}, {schema.OwnRandom, 1, 256, 24}, {schema.Event, 1, 4, 4}, {schema.Event, 24, 256, 64}, {schema.Event, 7, 256, 24}, {schema.Event, 28, 256, 64}, {schema.Counter, 20, 256, 64},
	} {
		if got := Next(schema.TraitsOf(c.of), c.count, c.bound); got != c.want {
			t.Errorf("%s with %d write shards, bound %d: next %d, want %d", c.of, c.count, c.bound, got, c.want)
		}
	}
}

// TestKeysAreBounded checks that the number of kept keys is bounded, that a busy key's evidence is kept, and that the
// least recently used key's is dropped.
func TestKeysAreBounded(t *testing.T) {
	const most = 100
	k, now, kept := NewKeys(most), modelEpoch, 0
	for i := range 3 * most {
		k.Observe(shard.Attempt{Key: fmt.Sprint("C#", i), Kind: string(schema.Counter), Call: uint64(i)}, 4, now)
		if i%(most/4) == 0 {
			k.Observe(shard.Attempt{Key: "C#hot", Kind: string(schema.Counter), Call: uint64(i)}, 4, now)
		}
		kept = max(kept, len(k.young)+len(k.old))
	}
	if kept > most || kept < most-1 { // while it moves, the busy key is in neither half
		t.Errorf("%d keys are kept, want %d", kept, most)
	}
	if n := len(k.evidenceOf("C#hot").calls); n != maxCalls {
		t.Errorf("%d calls of the busy key are kept, want %d", n, maxCalls)
	}
	if n := len(k.evidenceOf("C#0").calls); n != 0 {
		t.Errorf("%d calls of the first key are kept, want none", n)
	}
}

// writer observes a process's writes of one key, with its own clock.
type writer struct {
	*Keys
	shard.Attempt
	now   time.Time
	bound int
	next  uint64 // the last new item
}

func newWriter(p schema.Placement) *writer {
	return &writer{Keys: NewKeys(MaxKeys), Attempt: shard.Attempt{Key: "k", Kind: kindOf(p), Shards: 1}, now: modelEpoch, bound: 256}
}

// kindOf returns the name of a kind with a placement.
func kindOf(p schema.Placement) string {
	return string(map[schema.Placement]schema.Kind{schema.RandomPlacement: schema.Counter, schema.TimedPlacement: schema.Event, schema.IndexedPlacement: schema.Board}[p])
}

// outcome returns the outcome of an attempt.
func outcome(throttled bool) shard.Outcome {
	if throttled {
		return shard.Throttled
	}
	return shard.Accepted
}

// write makes a call that writes a new item. All attempts are throttled, except the last if accepted is set. It returns
// the strongest answer.
func (w *writer) write(attempts int, accepted bool) (answer Answer) {
	w.next++
	return w.writeItem(w.next, attempts, accepted)
}

// writeItem is write for a given item.
func (w *writer) writeItem(id uint64, attempts int, accepted bool) (answer Answer) {
	w.begin(id, w.now)
	for i := range attempts {
		w.Outcome = outcome(!accepted || i+1 < attempts)
		answer = max(answer, w.Observe(w.Attempt, w.bound, w.now))
	}
	return answer
}

// begin begins a call that writes an item.
func (w *writer) begin(item uint64, at time.Time) {
	w.Call++
	w.At, w.Items, w.Shard = at, item, int(item)%w.Shards
}

// TestObserve lists writes of one key, with the answer to the last one or the strongest answer.
func TestObserve(t *testing.T) {
	for name, c := range map[string]struct {
		placement schema.Placement
		writes    func(*writer) Answer
		want      Answer
	}{
		"three throttled calls":     {schema.RandomPlacement, func(w *writer) Answer { return w.writes(3, false) }, Ask},
		"one throttle":              {schema.RandomPlacement, func(w *writer) Answer { return w.write(2, true) }, Nothing},
		"one throttled event":       {schema.TimedPlacement, func(w *writer) Answer { return w.write(5, false) }, Nothing},
		"three throttled events":    {schema.TimedPlacement, func(w *writer) Answer { return w.writes(3, false) }, Ask},
		"two calls after a refresh": {schema.RandomPlacement, func(w *writer) Answer { w.write(5, false); return w.write(5, false) }, Nothing},
		"a call throttled twice":    {schema.RandomPlacement, func(w *writer) Answer { return w.write(2, false) }, Refresh},
		"a call with many retries":  {schema.RandomPlacement, func(w *writer) Answer { w.write(1, true); w.write(1, true); return w.write(8, false) }, Refresh},
		"less than half throttled":  {schema.RandomPlacement, func(w *writer) Answer { w.writes(6, true); w.write(2, true); return w.write(2, true) }, Refresh},
		"half throttled":            {schema.RandomPlacement, func(w *writer) Answer { w.writes(4, true); w.write(3, true); return w.write(3, true) }, Ask},
		"an hour after success": {schema.RandomPlacement, func(w *writer) Answer {
			w.writes(50, true)
			w.pass(time.Hour)
			w.writes(2, false)
			return w.write(1, false)
		}, Ask},
		"three seconds after success": {schema.RandomPlacement, func(w *writer) Answer {
			w.writes(8, true)
			w.pass(3 * time.Second)
			w.writes(2, false)
			return w.write(1, false)
		}, Ask},
		"two throttles three seconds before another": {schema.RandomPlacement, func(w *writer) Answer {
			w.write(1, false)
			w.write(1, false)
			w.pass(3 * time.Second)
			return w.write(1, false)
		}, Nothing},
		"accepted after two throttles": {schema.RandomPlacement, func(w *writer) Answer {
			w.write(1, false)
			w.write(1, false)
			return w.write(1, true)
		}, Nothing},
		"calls six seconds apart":       {schema.RandomPlacement, func(w *writer) Answer { w.writes(2, false); w.pass(6 * time.Second); return w.write(5, false) }, Refresh},
		"one of three events throttled": {schema.TimedPlacement, func(w *writer) Answer { w.writes(2, true); return w.write(5, false) }, Nothing},
		"two of three events throttled": {schema.TimedPlacement, func(w *writer) Answer { w.write(1, true); w.write(3, false); return w.write(3, false) }, Ask},
		"two events":                    {schema.TimedPlacement, func(w *writer) Answer { w.write(3, false); return w.write(3, false) }, Nothing},
		"one item ten times":            {schema.TimedPlacement, func(w *writer) Answer { return w.again(7, 10) }, Nothing},
		"half of them one item":         {schema.TimedPlacement, func(w *writer) Answer { w.again(7, 5); return w.writes(5, false) }, Nothing},
		"a third of them one item":      {schema.TimedPlacement, func(w *writer) Answer { w.again(7, 3); return w.writes(6, false) }, Ask},
		"one item of a counter's":       {schema.RandomPlacement, func(w *writer) Answer { return w.again(7, 3) }, Ask},
		"a backfill":                    {schema.TimedPlacement, func(w *writer) Answer { return w.dated(-time.Minute) }, Nothing},
		"events nine seconds old":       {schema.TimedPlacement, func(w *writer) Answer { return w.dated(-9 * time.Second) }, Ask},
		"events ahead":                  {schema.TimedPlacement, func(w *writer) Answer { return w.dated(2 * time.Second) }, Ask},
		"events before the change":      {schema.TimedPlacement, func(w *writer) Answer { w.Effective = w.now.Add(time.Second); return w.dated(0) }, Nothing},
		"new events before the change":  {schema.TimedPlacement, func(w *writer) Answer { w.New, w.Effective = true, w.now.Add(time.Second); return w.dated(0) }, Ask},
		"new events, throttled twice":   {schema.TimedPlacement, func(w *writer) Answer { w.New = true; return w.write(2, false) }, Refresh},
		"events at the change":          {schema.TimedPlacement, func(w *writer) Answer { w.Effective = w.now; return w.dated(0) }, Ask},
		"a board just changed":          {schema.IndexedPlacement, func(w *writer) Answer { w.Changed = w.now.Add(-59 * time.Second); return w.writes(9, false) }, Nothing},
		"a board changed a minute ago":  {schema.IndexedPlacement, func(w *writer) Answer { w.Changed = w.now.Add(-time.Minute); return w.writes(9, false) }, Ask},
		"a counter just changed":        {schema.RandomPlacement, func(w *writer) Answer { w.Changed = w.now; return w.writes(9, false) }, Ask},
		"older write shards":            {schema.RandomPlacement, func(w *writer) Answer { w.grown(4, 16); return w.on(0, 1, 2, 3, 0, 1) }, Nothing},
		"older ones, and one added":     {schema.RandomPlacement, func(w *writer) Answer { w.grown(4, 16); return w.on(0, 1, 2, 3, 9) }, Nothing},
		"added write shards":            {schema.RandomPlacement, func(w *writer) Answer { w.grown(4, 16); return w.on(4, 15, 9) }, Ask},
		"one added":                     {schema.RandomPlacement, func(w *writer) Answer { w.grown(4, 16); return w.on(4, 4, 4, 4) }, Refresh},
		"one added, events":             {schema.TimedPlacement, func(w *writer) Answer { w.grown(1, 24); return w.on(4, 4, 4, 4) }, Nothing},
		"two added, events":             {schema.TimedPlacement, func(w *writer) Answer { w.grown(1, 24); return w.on(4, 4, 5) }, Ask},
		"two of many added":             {schema.RandomPlacement, func(w *writer) Answer { w.grown(16, 64); return w.on(20, 21, 20, 21) }, Refresh},
		"three of many added":           {schema.RandomPlacement, func(w *writer) Answer { w.grown(16, 64); return w.on(20, 21, 22) }, Ask},
		"a count that shrank":           {schema.RandomPlacement, func(w *writer) Answer { w.grown(64, 4); return w.on(0, 1, 2) }, Ask},
		"equal counts":                  {schema.RandomPlacement, func(w *writer) Answer { w.grown(4, 4); return w.on(0, 1, 2) }, Ask},
		"an older entry, at once":       {schema.RandomPlacement, func(w *writer) Answer { return w.older(recentTime - 1) }, Nothing},
		"an older entry, later":         {schema.RandomPlacement, func(w *writer) Answer { return w.older(recentTime) }, Ask},
		"an older entry's throttle": {schema.RandomPlacement, func(w *writer) Answer {
			w.older(0)
			w.Version = 9
			w.writes(3, false)
			w.pass(time.Second)
			w.Version = 1
			return w.write(1, false)
		}, Nothing},
		"two of 32 added": {schema.RandomPlacement, func(w *writer) Answer { w.grown(16, 48); return w.on(20, 21, 20) }, Ask},
		"throttles before the change": {schema.RandomPlacement, func(w *writer) Answer {
			w.grown(1, 4)
			w.on(1, 2)
			w.grown(4, 16)
			w.pass(time.Second)
			return w.on(4, 4, 4)
		}, Refresh},
		"at the bound": {schema.RandomPlacement, func(w *writer) Answer { w.Shards = w.bound; return w.writes(9, false) }, Bounded},
		"above it":     {schema.TimedPlacement, func(w *writer) Answer { w.Shards = w.bound + 1; return w.writes(9, false) }, Bounded},
	} {
		w := newWriter(c.placement)
		if got := c.writes(w); got != c.want {
			t.Errorf("%s: answer %d, want %d", name, got, c.want)
		}
	}
}

// older makes a write with the entry's version, and then others with a lower version.
func (w *writer) older(later time.Duration) Answer {
	w.Version = 9
	w.write(1, true)
	w.pass(later)
	w.Version = 1
	return w.writes(3, false)
}

// grown changes the shard count in the process's view.
func (w *writer) grown(from, to int) { w.Version, w.Before, w.Shards = w.Version+1, from, to }

// on makes calls of one throttled attempt, one for each of these write shards. It returns the strongest answer.
func (w *writer) on(shards ...int) (answer Answer) {
	for _, n := range shards {
		w.next++
		w.begin(w.next, w.now)
		w.Shard, w.Outcome = n, shard.Throttled
		answer = max(answer, w.Observe(w.Attempt, w.bound, w.now))
	}
	return answer
}

func (w *writer) pass(d time.Duration) { w.now = w.now.Add(d) }

// writes makes n calls of one attempt, for new items. It returns the strongest answer.
func (w *writer) writes(n int, accepted bool) (answer Answer) {
	for range n {
		answer = max(answer, w.write(1, accepted))
	}
	return answer
}

// again makes n calls of one throttled attempt for one item. It returns the strongest answer.
func (w *writer) again(id uint64, n int) (answer Answer) {
	for range n {
		answer = max(answer, w.writeItem(id, 1, false))
	}
	return answer
}

// dated makes throttled calls for five events whose times differ from now by later. It returns the strongest answer.
func (w *writer) dated(later time.Duration) (answer Answer) {
	for range 5 {
		w.next++
		w.begin(w.next, w.now.Add(later))
		w.Outcome = shard.Throttled
		answer = max(answer, w.Observe(w.Attempt, w.bound, w.now))
	}
	return answer
}

// TestBoundedOnceAMinute checks that Bounded is returned once a minute for a key, and that another key with one write
// shard then needs ten calls, for ten seconds.
func TestBoundedOnceAMinute(t *testing.T) {
	w := newWriter(schema.RandomPlacement)
	w.Shards = w.bound
	bounded := 0
	for range 130 {
		if w.writes(3, false) == Bounded {
			bounded++
		}
		w.pass(time.Second)
	}
	if bounded != 3 {
		t.Errorf("Bounded %d times in 130 s, want 3", bounded)
	}
	w.Key, w.Shards = "C#other", 1
	if got := w.writes(9, false); got != Refresh {
		t.Errorf("nine calls of another key: answer %d, want %d", got, Refresh)
	}
	if got := w.write(1, false); got != Ask {
		t.Errorf("ten calls of another key: answer %d, want %d", got, Ask)
	}
	w.pass(tightTime)
	w.Key = "C#third"
	if got := w.writes(3, false); got != Ask {
		t.Errorf("three calls ten seconds later: answer %d, want %d", got, Ask)
	}
}

// TestAsksBackOff checks that the pause between two Asks doubles while the entry does not change, up to five seconds,
// and that a change resets it.
func TestAsksBackOff(t *testing.T) {
	w := newWriter(schema.RandomPlacement)
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
		t.Errorf("%d Asks in the first ten seconds, want 5", n)
	}
	if n := asks(20 * time.Second); n != 4 {
		t.Errorf("%d Asks in the next 20 s, want 4", n)
	}
	w.Asked(w.Key, 1, w.now)
	w.Version = 1
	if got := w.writes(2, false); got != Refresh {
		t.Errorf("two attempts with the new version: answer %d, want %d", got, Refresh)
	}
	w.pass(minPause)
	if n := asks(2 * time.Second); n != 3 {
		t.Errorf("%d Asks in two seconds with the new version, want 3", n)
	}
}

// TestRefreshesBackOff checks that the pause between two Refreshes doubles, up to five seconds, and that ten quiet seconds
// reset it.
func TestRefreshesBackOff(t *testing.T) {
	w := newWriter(schema.RandomPlacement)
	w.grown(1, 4)
	refreshes := func(lasting time.Duration) (n int) {
		for end := w.now.Add(lasting); w.now.Before(end); w.pass(50 * time.Millisecond) {
			if w.on(2) == Refresh {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		quiet, lasting time.Duration
		want           int
	}{
		{0, 700 * time.Millisecond, 2},                // after 0.05 and 0.65 s
		{0, 9300 * time.Millisecond, 3},               // after 1.85, 4.25 and 9.05 s
		{8950 * time.Millisecond, 5 * time.Second, 1}, // 9.95 s after the last one
		{2 * maxPause, 5 * time.Second, 4},            // after 0.05, 0.65, 1.85 and 4.25 s
	} {
		w.pass(c.quiet)
		if n := refreshes(c.lasting); n != c.want {
			t.Errorf("%d Refreshes in %v after %v of quiet, want %d", n, c.lasting, c.quiet, c.want)
		}
	}
}

// TestControls checks the names of the controls.
func TestControls(t *testing.T) {
	for c, want := range map[Control]bool{"act": true, "observe": true, "off": true, "": false, "on": false} {
		if c.Valid() != want {
			t.Errorf("%q: valid %t", c, c.Valid())
		}
	}
}

// TestBoundsOfTheEvidence checks how the times and numbers relate.
func TestBoundsOfTheEvidence(t *testing.T) {
	for name, ok := range map[string]bool{
		"all calls that are wanted are kept": minCalls <= maxCalls && minCallsTight <= maxCalls && minAttempts <= maxAttempts,
		"two write shards are added":         promptSteps[0]-1 >= minThrottled && slowSteps[0]-1 >= minThrottled,
		"many added have three":              manyAdded > minThrottled+1,
		"a call outlasts its attempts":       callAge > attemptAge,
		"a wait is shorter than a pause":     MaxWait < minPause && minPause < maxPause,
		"a pause ends while calls are kept":  maxPause <= callAge,
		"an old version ends after retries":  recentTime > callAge,
	} {
		if !ok {
			t.Error(name)
		}
	}
}

// TestACallCountsOnce checks that the ten calls with the highest numbers are kept, each once, in whatever order their
// attempts are observed.
func TestACallCountsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, numbers := newWriter(schema.RandomPlacement), map[uint64]bool{}
		for _, n := range rapid.SliceOfN(rapid.Uint64Range(1, 30), 1, 100).Draw(t, "calls") {
			w.Call, w.Outcome = n, shard.Outcome(rapid.IntRange(0, 3).Draw(t, "outcome"))
			w.Observe(w.Attempt, w.bound, w.now)
			numbers[n] = true
			want := slices.Sorted(maps.Keys(numbers))
			want = want[max(0, len(want)-maxCalls):]
			var got []uint64
			for _, c := range w.evidenceOf(w.Key).calls {
				got = append(got, c.number)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("calls %d are kept, want %d", got, want)
			}
		}
	})
}

// TestInconclusiveAttempts checks that an inconclusive attempt counts as a call and not as an attempt, and so does a
// conflict if write shards are calculated.
func TestInconclusiveAttempts(t *testing.T) {
	for _, p := range []schema.Placement{schema.RandomPlacement, schema.TimedPlacement, schema.IndexedPlacement} {
		for o, conclusive := range map[shard.Outcome]bool{shard.Inconclusive: false, shard.Accepted: true, shard.Throttled: true, shard.Conflicted: p == schema.RandomPlacement} {
			w := newWriter(p)
			w.begin(1, w.now)
			w.Outcome = o
			w.Observe(w.Attempt, w.bound, w.now)
			if e := w.evidenceOf(w.Key); len(e.calls) != 1 || len(e.attempts) == 1 != conclusive {
				t.Errorf("placement %d, outcome %d: %d calls, want 1; %d attempts, conclusive %v", p, o, len(e.calls), len(e.attempts), conclusive)
			}
		}
	}
	w := newWriter(schema.RandomPlacement)
	if w.Key, w.Kind = "C#nobody's", ""; w.write(9, false) != Nothing || len(w.young) > 0 {
		t.Errorf("%d keys are kept, want none of a key without a kind", len(w.young))
	}
}
