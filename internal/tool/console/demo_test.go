//go:build storm

package console

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// RunningDemo is a demo whose system keeps running after its end.
type RunningDemo struct {
	URL   string
	Key   string         // the base key, as stored
	Begin time.Time      // start of the ramp
	Story chan DemoStory // receives the story after the ramp's windows are counted
}

// DemoStory has the demo's measurements, which the page must show.
type DemoStory struct {
	Err     error     // set if the key did not get hot and cool
	Hottest time.Time // start of the hottest window
	Last    time.Time // start of the last window
	Changes []ShownChange
}

// ShownChange is a shard-count change in the shard map.
type ShownChange struct {
	Time   time.Time
	Shards int
}

// StartDemo runs the shortest demo. A test package outside sets it, because the demo imports this package.
var StartDemo func(*testing.T) RunningDemo

// TestDemoInConsole checks the console during a demo. The counter's row is hot and then cools, and it unfolds into its
// write shards. Each shard-count change has a marker at its time.
func TestDemoInConsole(t *testing.T) {
	d := StartDemo(t)
	p := openTab(t, 1360, 1000, "")
	from, to := d.Begin.Add(-20*time.Second), d.Begin.Add(time.Minute)
	p.do(chromedp.Navigate(fmt.Sprintf("%s/#/?from=%s&to=%s", d.URL, from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))))
	row := fmt.Sprintf("([...document.querySelectorAll('#rows tr.row')].find((row) => row.innerText.includes(%q))?.innerText ?? '')", d.Key)
	for end := d.Begin.Add(2 * time.Minute); !value[bool](p, row+".includes('hot')"); time.Sleep(settle) {
		if time.Now().After(end) {
			t.Fatalf("two minutes after the ramp began, the row is %q", value[string](p, row))
		}
	}
	story := <-d.Story
	if story.Err != nil {
		t.Fatal(story.Err)
	}
	n := story.Changes[len(story.Changes)-1].Shards
	p.until(fmt.Sprintf("%s.includes('1 → %d')", row, n))
	p.until(row + ".includes('cooled')")
	p.do(chromedp.Click(chromedp.CSS("#pause")))
	p.toggleLayers()
	light := func(at time.Time) int {
		_, x, y := p.cellAt(d.Key, at.UTC().Format(time.TimeOnly))
		return p.cell(x, y, 0)[0].light()
	}
	if hot, cool := light(story.Hottest), light(story.Last); hot < cool+cool/4 { // brightness follows the root of the rate
		t.Errorf("the brightness of the hottest cell is %d, of the last cell %d", hot, cool)
	}
	p.do(chromedp.Click(chromedp.CSS("#layer-events")), chromedp.Sleep(settle))
	for _, c := range story.Changes {
		p.marked(d.Key, c)
	}
	p.do(script(fmt.Sprintf("[...document.querySelectorAll('#rows tr.row')].find((row) => row.innerText.includes(%q)).querySelector('.fold').click()", d.Key)))
	p.until(fmt.Sprintf("document.querySelectorAll('#rows tr.shard').length == %d", min(n, 6)))
	p.healthy()
}

// marked checks that the key's row has a bar at the time of a change, and none 2 s later.
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
