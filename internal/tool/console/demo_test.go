//go:build storm

package console

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// RunningDemo is a demo on a system that goes on after it.
type RunningDemo struct {
	URL   string
	Key   string         // the base key, as stored
	Begin time.Time      // of the ramp
	Story chan DemoStory // has the story once the ramp's windows are counted
}

// DemoStory is what the demo measured: what the page has to show.
type DemoStory struct {
	Err     error     // why it is not of a key that was hot and has cooled
	Hottest time.Time // start of the hottest window
	Last    time.Time // start of the last one
	Changes []ShownChange
}

// ShownChange is a change of the shard count, as the shard map has it.
type ShownChange struct {
	Time   time.Time
	Shards int
}

// StartDemo runs the shortest demo. It is set from outside this package, which the demo imports.
var StartDemo func(*testing.T) RunningDemo

// TestDemoInTheConsole watches a demo: the counter is called hot, its row is bright and cools, it unfolds into
// its write shards, and changes of the shard count are marked where the shard map has them.
func TestDemoInTheConsole(t *testing.T) {
	d := StartDemo(t)
	p := openTab(t, 1360, 1000, "")
	from, to := d.Begin.Add(-20*time.Second), d.Begin.Add(time.Minute)
	p.do(chromedp.Navigate(fmt.Sprintf("%s/#/?from=%s&to=%s", d.URL, from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))))
	row := fmt.Sprintf("([...document.querySelectorAll('#rows tr.row')].find((row) => row.innerText.includes(%q))?.innerText ?? '')", d.Key)
	for end := d.Begin.Add(2 * time.Minute); !value[bool](p, row+".includes('hot')"); time.Sleep(settle) {
		if time.Now().After(end) {
			t.Fatalf("two minutes after the ramp began its row is %q", value[string](p, row))
		}
	}
	story := <-d.Story
	if story.Err != nil {
		t.Fatal(story.Err)
	}
	n := story.Changes[len(story.Changes)-1].Shards
	p.until(fmt.Sprintf("%s.includes('1 → %d')", row, n))
	p.until(row + ".includes('cooled')")
	p.do(chromedp.Click("#pause", chromedp.ByQuery))
	p.do(chromedp.Click("#layer-events", chromedp.ByQuery), chromedp.Click("#layer-throttled", chromedp.ByQuery), chromedp.Sleep(settle))
	light := func(at time.Time) int {
		_, x, y := p.cellAt(d.Key, at.UTC().Format(time.TimeOnly))
		return p.cell(x, y, 0)[0].light()
	}
	if hot, cool := light(story.Hottest), light(story.Last); hot < cool+cool/4 { // brightness follows the root of the rate
		t.Errorf("the hottest cell has the brightness %d, the last one %d", hot, cool)
	}
	p.do(chromedp.Click("#layer-events", chromedp.ByQuery), chromedp.Sleep(settle))
	for _, c := range story.Changes {
		p.marked(d.Key, c)
	}
	p.do(chromedp.Evaluate(fmt.Sprintf("[...document.querySelectorAll('#rows tr.row')].find((row) => row.innerText.includes(%q)).querySelector('.fold').click()", d.Key), nil))
	p.until(fmt.Sprintf("document.querySelectorAll('#rows tr.shard').length == %d", n))
	p.healthy()
}

// marked wants a bar in the key's row at the time of a change, and none 2 s later.
func (p *tab) marked(key string, c ShownChange) {
	p.t.Helper()
	column := c.Time.UTC().Truncate(10 * time.Second)
	left, _, y := p.cellAt(key, column.Format(time.TimeOnly))
	next, _, _ := p.cellAt(key, column.Add(10*time.Second).Format(time.TimeOnly))
	second := (next - left) / 10
	x := left + c.Time.Sub(column).Seconds()*second
	if bar := p.cell(x, y-6, 4); !has(bar, white) {
		p.t.Errorf("at %v there is no bar: %v", c.Time, bar)
	}
	if bar := p.cell(x+2*second, y-6, 4); has(bar, white) {
		p.t.Errorf("2 s after %v there is a bar: %v", c.Time, bar)
	}
}
