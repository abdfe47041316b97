package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Times of the story in UTC, as in tips.
const (
	beforeStorm = "11:49:30"
	unread      = "11:48:30"
	burning     = "11:52:30"
	grown       = "11:52:40" // from 1 to 4 write shards
	throttling  = "11:53:10"
	calm        = "11:55:30" // with 64 write shards
)

// pixel is a colour, as red, green and blue.
type pixel [3]int

var (
	dark  = pixel{10, 10, 18}
	white = pixel{255, 255, 255}
	cyan  = pixel{53, 224, 238}
)

func (c pixel) light() int { return c[0] + c[1] + c[2] }

// toggleLayers shows or hides the markers of shard-count changes and of throttled writes.
func (p *tab) toggleLayers() {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS("#layer-events")), chromedp.Click(chromedp.CSS("#layer-throttled")), chromedp.Sleep(settle))
}

// cell returns the pixels at a point of the map and around it.
func (p *tab) cell(x, y float64, around int) []pixel {
	p.t.Helper()
	return value[[]pixel](p, fmt.Sprintf(`(() => {
		const canvas = document.querySelector('#map canvas'), box = canvas.getBoundingClientRect(), around = %d;
		const { data } = canvas.getContext('2d').getImageData(%f - box.x - around, %f - box.y - around, 2 * around + 1, 2 * around + 1);
		return Array.from({ length: data.length / 4 }, (_, i) => [...data.slice(4 * i, 4 * i + 3)]);
	})()`, around, x, y))
}

// cellAt returns the left edge and the middle of a key's cell. It finds the cell by the UTC time in the tip.
func (p *tab) cellAt(key, utc string) (left, x, y float64) {
	p.t.Helper()
	_, y = p.rowAt(key)
	xs := value[[]float64](p, fmt.Sprintf(`(() => {
		const map = document.getElementById('map'), box = map.getBoundingClientRect(), found = [];
		for (let x = box.x + 100; x < box.right; x++) {
			map.dispatchEvent(new PointerEvent('pointermove', {clientX: x, clientY: %f}));
			if (!map.querySelector('.tip').hidden && map.querySelector('.tip').innerText.includes(%q)) found.push(x);
		}
		return found;
	})()`, y, utc))
	if len(xs) == 0 {
		p.t.Fatalf("%s has no cell at %s", key, utc)
	}
	return xs[0], (xs[0] + xs[len(xs)-1]) / 2, y + 3
}

func has(pixels []pixel, wanted pixel) bool {
	for _, c := range pixels {
		near := true
		for i := range c {
			near = near && c[i]-wanted[i] < 40 && wanted[i]-c[i] < 40
		}
		if near {
			return true
		}
	}
	return false
}

// TestRowCools checks the pixels of the viral key's row: dark while idle, bright while hot, darker after resharding,
// hatched where unread.
func TestRowCools(t *testing.T) {
	t.Parallel()
	f := serve(t)
	p := openMap(t, f)
	p.toggleLayers()
	at := func(utc string) pixel {
		_, x, y := p.cellAt("C#video/7", utc)
		return p.cell(x, y, 0)[0]
	}
	idle, hot, cool := at(beforeStorm), at(burning), at(calm)
	if idle != dark {
		t.Errorf("an idle cell is %v, want %v", idle, dark)
	}
	if hot.light() < 2*cool.light() || cool.light() <= idle.light() {
		t.Errorf("the hot cell is %v, the cooled one %v; want it twice as bright, and the cooled one brighter than an idle one", hot, cool)
	}
	_, x, y := p.cellAt("C#video/7", unread)
	hatched := p.cell(x, y, 3)
	if has(hatched, dark) || !has(hatched, pixel{0x56, 0x5b, 0x66}) || !has(hatched, pixel{0x9c, 0xa2, 0xad}) {
		t.Errorf("the unread cell is not hatched: %v", hatched)
	}
	if tip := value[string](p, theTip+".innerText"); !strings.Contains(tip, "No data") && strings.Contains(tip, unread) {
		t.Errorf("the tip of an unread cell: %s", tip)
	}
	p.do(chromedp.Click(chromedp.CSS("[data-metric=mean]")))
	p.until("location.hash.includes('metric=mean')")
	p.do(chromedp.Sleep(settle))
	if mean := at(calm); mean.light() < 2*cool.light() {
		t.Errorf("the mean of all 64 write shards is %v, the hottest one %v; want it twice as bright", mean, cool)
	}
	p.healthy()
}

// TestMarkers checks that shard-count changes and throttled writes have markers at their times, which can be hidden.
func TestMarkers(t *testing.T) {
	t.Parallel()
	f := serve(t)
	p := openMap(t, f)
	left, _, y := p.cellAt("C#video/7", grown)
	if bar := p.cell(left, y-6, 3); !has(bar, white) {
		t.Errorf("at %s there is no bar: %v", grown, bar)
	}
	throttled, _, _ := p.cellAt("C#video/7", throttling)
	if mark := p.cell(throttled+5, y+4, 7); !has(mark, cyan) {
		t.Errorf("at %s there is no marker of throttled writes: %v", throttling, mark)
	}
	box := value[[]float64](p, "(() => { const b = document.getElementById('map').getBoundingClientRect(); return [b.x, b.y] })()")
	p.do(chromedp.MouseEvent(chromedp.MouseMoved, left, box[1]+82))
	tip := value[string](p, theTip+".innerText")
	for _, want := range []string{"All keys", "C#video/7: 1 → 4 write shards, by ingest", "throttled writes/s", "other keys"} {
		if !strings.Contains(tip, want) {
			t.Errorf("the tip above the map lacks %q: %s", want, tip)
		}
	}
	p.toggleLayers()
	if has(p.cell(left, y-6, 3), white) || has(p.cell(throttled+5, y+4, 7), cyan) {
		t.Error("hidden layers still have markers")
	}
	p.until("location.hash.includes('hide=throttled&hide=events')")
	p.healthy()
}
