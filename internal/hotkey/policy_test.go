package hotkey_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

var policy = hotkey.Policy{Limit: 100, Threshold: 0.7, Window: 10 * time.Second, Quiet: time.Hour, Interval: 5 * time.Minute}

// entry is a key with one change, in force from a time on.
func entry(count int, at time.Time) ddb.Entry {
	if count == 1 {
		return ddb.Entry{}
	}
	return ddb.Entry{Key: "C#a", History: shard.History{{At: at, Count: count}}, Max: count}
}

// evidence is a window from start of a counter with these certain rates.
func evidence(rates ...float64) hotkey.Evidence {
	e := hotkey.Evidence{
		Base: schema.BaseKey{Type: schema.Counter, Name: "a"}, Start: start, End: start.Add(10 * time.Second),
		Shards: map[int]hotkey.Load{}, Refused: map[int]uint64{},
	}
	for n, rate := range rates {
		e.Shards[n] = hotkey.Load{Low: rate, High: rate, Peak: rate}
	}
	return e
}

func with(e hotkey.Evidence, change func(*hotkey.Evidence)) hotkey.Evidence {
	change(&e)
	return e
}

func TestAnswer(t *testing.T) {
	entity := func(e *hotkey.Evidence) { e.Base.Type = schema.Entity }
	throttled := func(n int, offered float64) func(e *hotkey.Evidence) {
		return func(e *hotkey.Evidence) { e.Throttled, e.Refused[n], e.Offered = 5, 5, offered }
	}
	old := start.Add(-time.Hour)
	pinned := entry(2, old)
	pinned.Pinned = true
	unheard := func(e *hotkey.Evidence) { e.Unheard = true }
	for name, c := range map[string]struct {
		evidence hotkey.Evidence
		entry    ddb.Entry
		after    time.Duration // now, from the window's end
		want     hotkey.Action
		to       int
		why      string
	}{
		"just below":             {evidence(69.9), entry(1, old), 0, hotkey.None, 1, "not hot"},
		"at the threshold":       {evidence(70), entry(1, old), 0, hotkey.Grow, 3, "of 1 write shards took 70.0"},
		"an entity":              {with(evidence(70), entity), entry(1, old), 0, hotkey.Grow, 6, ""},
		"at least double":        {evidence(70, 0.1), entry(1, old), 0, hotkey.Grow, 3, ""},
		"even load on four":      {evidence(70, 70, 70, 70), entry(4, old), 0, hotkey.Grow, 12, ""},
		"throttled, ten times":   {with(evidence(100), throttled(0, 1000)), entry(1, old), 0, hotkey.Grow, 40, "1000.0 were offered, 5 attempts throttled"},
		"the same, entity":       {with(with(evidence(100), throttled(0, 1000)), entity), entry(1, old), 0, hotkey.Grow, 80, ""},
		"throttled, not counted": {with(evidence(), throttled(0, 0)), entry(1, old), 0, hotkey.Grow, 2, ""},
		"others fill it":         {with(evidence(3), throttled(0, 4)), entry(1, old), 0, hotkey.Advise, 1, "other keys fill its partition"},
		"failed conditions":      {with(evidence(60), func(e *hotkey.Evidence) { e.Failed = 50 }), entry(1, old), 0, hotkey.Grow, 5, ""},
		"the cap":                {with(evidence(100), throttled(0, 1e6)), entry(600, old), 0, hotkey.Grow, 1000, ""},
		"at the cap":             {with(evidence(100), throttled(0, 1e6)), entry(1000, old), 0, hotkey.Advise, 1000, "the most"},
		"one of four is hot":     {evidence(90, 5, 5, 5), entry(4, old), 0, hotkey.Advise, 4, "skew"},
		"one of ten, unlisted":   {evidence(90), entry(10, old), 0, hotkey.Advise, 10, "skew"},
		"unlisted by error":      {with(evidence(90), func(e *hotkey.Evidence) { e.Rest = 60 }), entry(2, old), 0, hotkey.Grow, 4, ""},
		"one of ten throttles":   {with(evidence(90, 5, 5, 5, 5, 5, 5, 5, 5, 5), throttled(0, 100)), entry(10, old), 0, hotkey.Advise, 10, "skew"},
		"a former write shard":   {with(evidence(1, 1), throttled(2, 100)), entry(2, old), 0, hotkey.None, 2, "not hot"},
		"hot in former times":    {evidence(1, 1, 90), entry(2, old), 0, hotkey.None, 2, "not hot"},
		"one throttles first":    {with(evidence(90), throttled(0, 2000)), entry(10, old), 0, hotkey.Grow, 80, ""},
		"half of them":           {evidence(90, 90, 5, 5), entry(4, old), 0, hotkey.Grow, 8, ""},
		"unheard of":             {with(evidence(90), unheard), entry(4, old), 0, hotkey.None, 4, "yet to be heard of"},
		"more than all take":     {with(with(evidence(90), throttled(0, 2000)), unheard), entry(4, old), 0, hotkey.Grow, 80, ""},
		"before a reset":         {evidence(90), ddb.Entry{Key: "C#a", Max: 4, Updated: start.Add(1)}, 0, hotkey.None, 1, "answered"},
		"after it":               {evidence(90), ddb.Entry{Key: "C#a", Max: 4, Updated: start}, 0, hotkey.Grow, 4, ""},
		"pinned":                 {with(evidence(100), throttled(0, 1000)), pinned, 0, hotkey.None, 2, "pinned"},
		"answered":               {evidence(90, 90), entry(2, start.Add(time.Second)), 0, hotkey.None, 2, "answered"},
		"answered just before":   {evidence(90, 90), entry(2, start), 0, hotkey.Grow, 8, ""},
		"two windows ago":        {evidence(90), entry(1, old), 20 * time.Second, hotkey.Grow, 4, ""},
		"longer ago":             {evidence(90), entry(1, old), 20*time.Second + 1, hotkey.None, 1, "too long ago"},
		"a backfill":             {with(evidence(90), func(e *hotkey.Evidence) { e.Past = true }), entry(1, old), 0, hotkey.Advise, 1, "past days"},
	} {
		d := policy.Answer(c.evidence, c.entry, c.evidence.End.Add(c.after))
		if c.want == hotkey.Grow && d.From != c.entry.History.Newest() || d.Action != c.want || d.To != c.to || !strings.Contains(d.Why, c.why) {
			t.Errorf("%s: %+v; want %s to %d, %q", name, d, c.want, c.to, c.why)
		}
	}
}

// TestAnswerWaits for writers that will know their rate, also over the window's end:
// they tell again, in the next one.
func TestAnswerWaits(t *testing.T) {
	e := evidence(100)
	e.Throttled, e.Offered, e.Waiting, e.Running = 5, 30, true, true
	if d := policy.Answer(e, ddb.Entry{}, start.Add(time.Second)); d.Action != hotkey.None || !strings.Contains(d.Why, "in a moment") {
		t.Errorf("running: %+v", d)
	}
	e.Running = false
	if d := policy.Answer(e, ddb.Entry{}, e.End.Add(2*time.Second)); d.Action != hotkey.None {
		t.Errorf("just over: %+v", d)
	}
	if d := policy.Answer(e, ddb.Entry{}, e.End.Add(3*time.Second)); d.Action != hotkey.Grow || d.To != 4 {
		t.Errorf("over: %+v", d)
	}
}

// TestAnswerOfASaturatedPartition: while its writers may still tell what they were
// offered, a running window does not answer from what got through.
func TestAnswerOfASaturatedPartition(t *testing.T) {
	for name, c := range map[string]struct {
		peak  float64
		since time.Duration // from the peak on
		over  bool
		want  hotkey.Action
	}{
		"below the limit":      {99, time.Second, false, hotkey.Grow},
		"at the limit":         {100, time.Second, false, hotkey.None},
		"with a burst":         {200, 2 * time.Second, false, hotkey.None},
		"not held back":        {201, time.Second, false, hotkey.Grow},
		"nobody told":          {100, 3 * time.Second, false, hotkey.Grow},
		"the window has ended": {100, time.Second, true, hotkey.Grow},
	} {
		e := evidence(70)
		at := start.Add(5 * time.Second)
		e.Running, e.Shards[0] = !c.over, hotkey.Load{Low: 70, High: 70, Peak: c.peak, PeakAt: at}
		if d := policy.Answer(e, ddb.Entry{}, at.Add(c.since)); d.Action != c.want {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestAnswerRunning: a window that goes on is sized by its heaviest seconds.
func TestAnswerRunning(t *testing.T) {
	e := evidence(70)
	e.Running, e.Shards[0] = true, hotkey.Load{Low: 70, High: 70, Peak: 350}
	if d := policy.Answer(e, ddb.Entry{}, start.Add(3*time.Second)); d.To != 14 {
		t.Errorf("got %+v", d)
	}
}

func drawEvidence(t *rapid.T) hotkey.Evidence {
	e := evidence()
	e.Base.Type = rapid.SampledFrom([]schema.Type{schema.Counter, schema.Entity, schema.Sessions, schema.Board}).Draw(t, "type")
	for n := range rapid.IntRange(0, 8).Draw(t, "listed") {
		low := rapid.Float64Range(0, 200).Draw(t, "low")
		e.Shards[n] = hotkey.Load{Low: low, High: low + rapid.Float64Range(0, 50).Draw(t, "err"), Peak: rapid.Float64Range(0, 1000).Draw(t, "peak")}
	}
	e.Running = rapid.Bool().Draw(t, "running")
	e.Rest = rapid.Float64Range(0, 20).Draw(t, "rest")
	e.Failed = rapid.Float64Range(0, 100).Draw(t, "failed")
	if rapid.Bool().Draw(t, "sighted") {
		e.Offered = rapid.Float64Range(0, 1e6).Draw(t, "offered")
		e.Throttled = uint64(rapid.IntRange(0, 100).Draw(t, "throttled"))
		e.Refused[rapid.IntRange(0, 9).Draw(t, "refused")] = e.Throttled
	}
	return e
}

// TestAnswerAlways holds what is true of every answer, and follows it up: once a
// change is made, what was seen before it is in force is never answered again.
func TestAnswerAlways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvidence(t)
		at := start.Add(time.Duration(rapid.IntRange(-100, 20).Draw(t, "last change")) * time.Second)
		was := entry(rapid.SampledFrom([]int{1, 2, 3, 10, 501, 999, 1000}).Draw(t, "count"), at)
		was.Pinned = rapid.Bool().Draw(t, "pinned")
		now := start.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "now")) * time.Second)
		d := policy.Answer(e, was, now)
		n := was.History.Newest()
		switch {
		case d.Why == "" || d.From != n || d.Action == hotkey.Shrink:
			t.Fatalf("%+v", d)
		case d.Action != hotkey.Grow && d.To != n:
			t.Fatalf("%+v changes the count", d)
		case d.Action == hotkey.Grow && (d.To > shard.MaxShards || d.To < min(2*n, shard.MaxShards) || d.To <= n):
			t.Fatalf("%+v", d)
		case d.Action != hotkey.None && (was.Pinned || e.Start.Before(was.Effective()) || now.Sub(e.End) > 20*time.Second):
			t.Fatalf("%+v must not be", d)
		}
		if d.Action != hotkey.Grow {
			return
		}
		was.History = append(was.History, shard.Change{At: now.Add(ddb.LeadTime), Count: d.To})
		later := now.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "later")) * time.Second)
		if again := policy.Answer(e, was, later); again.Action != hotkey.None {
			t.Fatalf("answered twice: %+v, then %+v", d, again)
		}
	})
}

func calm(peak float64) hotkey.Calm {
	return hotkey.Calm{
		Base: schema.BaseKey{Type: schema.Counter, Name: "a"}, From: start, To: start.Add(time.Hour), Peak: peak,
	}
}

func TestRelax(t *testing.T) {
	old := start.Add(-time.Hour)
	pinned := entry(8, old)
	pinned.Pinned = true
	change := func(f func(*hotkey.Calm)) hotkey.Calm {
		c := calm(0)
		f(&c)
		return c
	}
	for name, c := range map[string]struct {
		calm  hotkey.Calm
		entry ddb.Entry
		after time.Duration // now, from the proof's end
		to    int
		why   string
	}{
		"nothing":          {calm(0), entry(8, old), 0, 1, "from 13:00:00 to 14:00:00 no window had more than 0.0"},
		"a little":         {calm(26), entry(8, old), 0, 2, ""},
		"half":             {calm(100), entry(8, old), 0, 4, ""},
		"more than half":   {calm(101), entry(8, old), 0, 8, "more than half"},
		"an entity's half": {change(func(c *hotkey.Calm) { c.Peak, c.Base.Type = 51, schema.Entity }), entry(8, old), 0, 8, "more than half"},
		"one write shard":  {calm(0), entry(1, old), 0, 1, "one write shard"},
		"pinned":           {calm(0), pinned, 0, 8, "pinned"},
		"nothing proved":   {hotkey.Calm{}, entry(8, time.Time{}), 0, 8, "no proof"},
		"too short":        {change(func(c *hotkey.Calm) { c.From = start.Add(1) }), entry(8, old), 0, 8, "no proof"},
		"just now":         {calm(0), entry(8, old), 15*time.Minute + 20*time.Second, 1, ""},
		"too long ago":     {calm(0), entry(8, old), 15*time.Minute + 20*time.Second + 1, 8, "no proof"},
		"changed since":    {calm(0), entry(8, start.Add(1)), 0, 8, "too recent"},
		"throttled":        {change(func(c *hotkey.Calm) { c.Throttled = true }), entry(8, old), 0, 8, "refused"},
		"incomplete":       {change(func(c *hotkey.Calm) { c.Incomplete = true }), entry(8, old), 0, 8, "not have been counted"},
	} {
		d := policy.Relax(c.calm, c.entry, c.calm.To.Add(c.after))
		if shrinks := d.Action == hotkey.Shrink; shrinks != (c.to < c.entry.History.Newest()) || d.To != c.to || !strings.Contains(d.Why, c.why) {
			t.Errorf("%s: %+v; want %d, %q", name, d, c.to, c.why)
		}
	}
}

// TestRelaxAlways: whatever was seen, a count is lowered only with proof, to half
// or less, and to what the peak needs.
func TestRelaxAlways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := calm(rapid.Float64Range(0, 2000).Draw(t, "peak"))
		c.To = start.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "minutes")) * time.Minute)
		c.Throttled = rapid.IntRange(0, 9).Draw(t, "throttled") == 0
		c.Incomplete = rapid.IntRange(0, 9).Draw(t, "incomplete") == 0
		was := entry(rapid.IntRange(1, 1000).Draw(t, "count"), start.Add(time.Duration(rapid.IntRange(-60, 10).Draw(t, "change"))*time.Minute))
		was.Pinned = rapid.IntRange(0, 9).Draw(t, "pinned") == 0
		now := c.To.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "ago")) * time.Minute)
		d := policy.Relax(c, was, now)
		proof := c.To.Sub(c.From) >= time.Hour && now.Sub(c.To) <= 16*time.Minute && !c.From.Before(was.Effective()) && !c.Throttled && !c.Incomplete
		switch n := was.History.Newest(); {
		case d.Action == hotkey.None:
			if d.To != n {
				t.Fatalf("%+v changes the count", d)
			}
		case d.Action != hotkey.Shrink || !proof || was.Pinned || 2*d.To > n || d.To < 1 || float64(d.To)*25 < c.Peak:
			t.Fatalf("%+v with %+v of %+v", d, c, was)
		}
	})
}

func ExamplePolicy_Answer() {
	p := hotkey.Policy{Limit: 1000, Threshold: 0.7}
	e := hotkey.Evidence{
		Base: schema.BaseKey{Type: schema.Counter, Name: "page/home"}, Start: start, End: start.Add(10 * time.Second),
		Shards: map[int]hotkey.Load{0: {Low: 800, High: 800}},
	}
	d := p.Answer(e, ddb.Entry{}, e.End)
	fmt.Println(d.Action, "from", d.From, "to", d.To)
	// Output: grow from 1 to 4
}
