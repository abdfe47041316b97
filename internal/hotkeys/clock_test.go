package hotkeys_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// TestStormByTheClock checks when a counter that is hot in one window has its metric, more write shards and fewer again,
// with tumbling windows of each length.
func TestStormByTheClock(t *testing.T) {
	const each, stormEnd = 5 * time.Second, 80 * time.Second
	for _, hold := range []time.Duration{10 * time.Second, time.Minute, heat.MaxHold} {
		s := settings()
		if hold > s.Window {
			s.Hold = hold
		}
		f := newFixture(s)
		b := batch{length: hold, first: 1}
		var named, grown, shrunk time.Duration
		for at := time.Duration(0); at < 20*time.Minute && shrunk == 0; at += each {
			f.now = start.Add(at + each)
			b.writes = units(start.Add(at), "C#other#0", 5)
			for second := at; second < at+each && at >= stormEnd-s.Window && at < stormEnd; second += time.Second {
				b.writes = append(b.writes, units(start.Add(second), "C#a#0", 80)...)
			}
			b.final = (at+each)%hold == 0
			b.state = f.must(t, b.payload())
			b.first += len(b.writes)
			if b.final {
				b.later, b.state = at+each, nil
			}
			if since := f.now.Sub(start); since%time.Minute == 0 {
				f.heatTask(t)
			} else if since%s.TaskInterval() < each {
				f.shrinkTask(t)
			}
			if named == 0 && len(f.values("KeyWriteUnitsPerSecond")["hotshard-items C#a"]) > 0 {
				named = f.now.Sub(start)
			}
			switch len(f.shards.changes) {
			case 0:
				grown = f.now.Add(each).Sub(start)
			case 2:
				shrunk = f.now.Sub(start)
			}
		}
		t.Logf("tumbling window %v: after the storm's end its metric %v, growth %v, shrink %v: %v", hold, named-stormEnd, grown-stormEnd, shrunk-stormEnd, f.shards.changes)
		if want := []string{"C#a 1>4", "C#a 4>1"}; !slices.Equal(f.shards.changes, want) || named == 0 || named > stormEnd+time.Minute || grown > stormEnd+time.Minute {
			t.Errorf("tumbling window %v: changes %v, want %v, metric after %v", hold, f.shards.changes, want, named)
		}
		if early := stormEnd + s.Quiet; shrunk < early || shrunk > early+2*s.TaskInterval() {
			t.Errorf("tumbling window %v: shrunk after %v, want soon after %v", hold, shrunk, early)
		}
	}
}
