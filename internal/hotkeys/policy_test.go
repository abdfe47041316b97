package hotkeys_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

var policy = hotkeys.Policy{Limit: 100, Threshold: 0.7, Partitions: 250}

// entry returns a key's entry with one change that takes effect at a time.
func entry(count int, at time.Time) shardmap.Entry {
	if count == 1 {
		return shardmap.Entry{}
	}
	return shardmap.Entry{Key: "C#a", History: shard.History{{At: at, Count: count}}, Max: count}
}

// evidence returns evidence of a counter whose write shards have these certified rates, in WCU/s.
func evidence(rates ...float64) hotkeys.Evidence {
	e := hotkeys.Evidence{
		Base: schema.BaseKey{Type: schema.Counter, Name: "a"}, Start: start, End: start.Add(10 * time.Second),
		Shards: map[int]hotkeys.Load{},
	}
	for n, rate := range rates {
		e.Shards[n] = hotkeys.Load{Low: rate, High: rate, Peak: rate}
	}
	return e
}

func with(e hotkeys.Evidence, change func(*hotkeys.Evidence)) hotkeys.Evidence {
	change(&e)
	return e
}

// TestDecideGrowth lists evidence and entries with the decision, and a fragment of its reason.
func TestDecideGrowth(t *testing.T) {
	entity := func(e *hotkeys.Evidence) { e.Base.Type = schema.Event }
	partial := func(e *hotkeys.Evidence) { e.Partial = true }
	old := start.Add(-time.Hour)
	pinned := entry(2, old)
	pinned.Pinned = true
	for name, c := range map[string]struct {
		evidence hotkeys.Evidence
		entry    shardmap.Entry
		after    time.Duration // now, from the window's end
		want     hotkeys.Action
		to       int
		why      string
	}{
		"just below":            {evidence(69.9), entry(1, old), 0, hotkeys.None, 1, "not hot"},
		"at the threshold":      {evidence(70), entry(1, old), 0, hotkeys.Grow, 3, "of 1 took 70.0"},
		"an entity":             {with(evidence(70), entity), entry(1, old), 0, hotkeys.Grow, 6, ""},
		"at least double":       {evidence(70, 40, 30), entry(3, old), 0, hotkeys.Grow, 6, ""},
		"even load on four":     {evidence(70, 70, 70, 70), entry(4, old), 0, hotkeys.Grow, 12, ""},
		"far over the limit":    {evidence(1000), entry(1, old), 0, hotkeys.Grow, 40, ""},
		"far over, an entity":   {with(evidence(1000), entity), entry(1, old), 0, hotkeys.Grow, 80, ""},
		"the cap":               {with(evidence(100), partial), entry(600, old), 0, hotkeys.Grow, 1000, ""},
		"at the cap":            {with(evidence(100), partial), entry(1000, old), 0, hotkeys.Advise, 1000, "more than 1000 write shards do not help on the table's 250 partitions"},
		"one of four is hot":    {evidence(90, 5, 5, 5), entry(4, old), 0, hotkeys.Advise, 4, "skew"},
		"one of ten, unlisted":  {evidence(90), entry(10, old), 0, hotkeys.Advise, 10, "skew"},
		"unlisted by error":     {with(evidence(90), func(e *hotkeys.Evidence) { e.Rest = 60 }), entry(2, old), 0, hotkeys.Grow, 4, ""},
		"a former write shard":  {evidence(1, 1, 90), entry(2, old), 0, hotkeys.None, 2, "not hot"},
		"two of four are hot":   {evidence(90, 90, 5, 5), entry(4, old), 0, hotkeys.Grow, 8, ""},
		"partial, counter":      {with(evidence(90), partial), entry(10, old), 0, hotkeys.Grow, 36, "all took 900.0"},
		"partial, all listed":   {with(evidence(90, 1), partial), entry(2, old), 0, hotkeys.Advise, 2, "skew"},
		"partial, entity":       {with(with(evidence(90), partial), entity), entry(4, old), 0, hotkeys.None, 4, "have not reported yet"},
		"partial, new entity":   {with(with(evidence(90), partial), entity), entry(1, old), 0, hotkeys.Grow, 8, ""},
		"running, by its peak":  {with(evidence(70), func(e *hotkeys.Evidence) { e.Running, e.Shards[0] = true, hotkeys.Load{Low: 70, High: 70, Peak: 350} }), entry(1, old), -7 * time.Second, hotkeys.Grow, 14, ""},
		"before a reset":        {evidence(90), shardmap.Entry{Key: "C#a", Max: 4, Updated: start.Add(1)}, 0, hotkeys.None, 1, "took effect"},
		"after a reset":         {evidence(90), shardmap.Entry{Key: "C#a", Max: 4, Updated: start}, 0, hotkeys.Grow, 4, ""},
		"pinned":                {evidence(100, 90), pinned, 0, hotkeys.None, 2, "pinned"},
		"answered":              {evidence(90, 90), entry(2, start.Add(time.Millisecond)), 0, hotkeys.None, 2, "took effect"},
		"answered just before":  {evidence(90, 90), entry(2, start), 0, hotkeys.Grow, 8, ""},
		"two windows ago":       {evidence(90), entry(1, old), 20 * time.Second, hotkeys.Grow, 4, ""},
		"longer ago":            {evidence(90), entry(1, old), 20*time.Second + 1, hotkeys.None, 1, "too long ago"},
		"a backfill":            {with(evidence(90), func(e *hotkeys.Evidence) { e.Past = true }), entry(1, old), 0, hotkeys.Advise, 1, "past days"},
		"a board's other dates": {with(evidence(90), func(e *hotkeys.Evidence) { e.OtherPeriods = hotkeys.Load{Low: 60, Peak: 60} }), entry(1, old), 0, hotkeys.Grow, 6, ""},
	} {
		d := policy.DecideGrowth(c.evidence, c.entry, c.evidence.End.Add(c.after))
		if c.want == hotkeys.Grow && d.From != c.entry.History.Newest() || d.Action != c.want || d.To != c.to || !strings.Contains(d.Why, c.why) {
			t.Errorf("%s: %+v; want %q to %d because %q", name, d, c.want, c.to, c.why)
		}
	}
}

// TestDecideGrowthDuringDecrease checks that a key grows by evidence about the count in effect while a decrease is
// pending.
func TestDecideGrowthDuringDecrease(t *testing.T) {
	e := with(evidence(90, 90, 90, 90), func(e *hotkeys.Evidence) { e.Base.Type = schema.Event })
	pending := entry(4, start.Add(-time.Hour))
	pending.History = append(pending.History, shard.Change{At: e.End.Add(time.Minute), Count: 2})
	if d := policy.DecideGrowth(e, pending, e.End); d.Action != hotkeys.Grow || d.From != 4 || d.To < 8 {
		t.Errorf("%+v, want a growth from 4 to 8 or more", d)
	}
}

// calm returns the load of a counter whose heaviest window had a peak in WCU/s.
func calm(peak float64) hotkeys.PastLoad {
	return hotkeys.PastLoad{Base: schema.BaseKey{Type: schema.Counter, Name: "a"}, From: start, Peak: peak}
}

// TestDecideShrink lists loads and entries with the decided count, and a fragment of the reason.
func TestDecideShrink(t *testing.T) {
	old := start.Add(-time.Hour)
	pinned := entry(8, old)
	pinned.Pinned = true
	change := func(f func(*hotkeys.PastLoad)) hotkeys.PastLoad {
		c := calm(0)
		f(&c)
		return c
	}
	for name, c := range map[string]struct {
		calm  hotkeys.PastLoad
		entry shardmap.Entry
		to    int
		why   string
	}{
		"nothing":          {calm(0), entry(8, old), 1, "no window since 2026-01-05 13:00:00 had more than 0.0"},
		"a little":         {calm(26), entry(8, old), 2, ""},
		"half":             {calm(100), entry(8, old), 4, ""},
		"more than half":   {calm(101), entry(8, old), 8, "more than half"},
		"grown too far":    {calm(700), entry(1000, old), 28, ""},
		"an entity's half": {change(func(c *hotkeys.PastLoad) { c.Peak, c.Base.Type = 51, schema.Event }), entry(8, old), 8, "more than half"},
		"one write shard":  {calm(0), entry(1, old), 1, "one write shard"},
		"pinned":           {calm(0), pinned, 8, "pinned"},
		"just changed":     {calm(0), entry(8, start), 1, ""},
		"changed since":    {calm(0), entry(8, start.Add(1)), 8, "too recent"},
		"in doubt":         {change(func(c *hotkeys.PastLoad) { c.Doubt = "windows are missing" }), entry(8, old), 8, "windows are missing"},
	} {
		d := policy.DecideShrink(c.calm, c.entry)
		if shrinks := d.Action == hotkeys.Shrink; shrinks != (c.to < c.entry.History.Newest()) || d.To != c.to || !strings.Contains(d.Why, c.why) {
			t.Errorf("%s: %+v; want %d because %q", name, d, c.to, c.why)
		}
	}
}
