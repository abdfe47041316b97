package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestOneNameForEachThing checks that map, list, panel and key page have the same names for a key, its status and its
// rates, and that names are filtered.
func TestOneNameForEachThing(t *testing.T) {
	t.Parallel()
	f := serve(t)
	p := openMap(t, f)
	for place, wants := range map[string][]string{
		"#rows":         {"C#checkout", "C#video/7", "hot", "cooled"},
		"#side section": {"C#checkout", "hot · 1 → 2", "C#video/7", "cooled · 1 → 64", "E#sensor-3", "normal · 1"},
	} {
		text := value[string](p, fmt.Sprintf("document.querySelector(%q).innerText", place))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q: %.900s", place, want, text)
			}
		}
	}
	p.do(chromedp.Navigate(f.URL + "/#/key?type=counter&name=video%2F7"))
	p.until("!!document.querySelector('[data-stat]')")
	if title := value[string](p, "document.querySelector('.title .key').textContent"); title != "C#video/7" {
		t.Errorf("the title of the key's page is %q", title)
	}
	stats := value[[]string](p, "[...document.querySelectorAll('[data-stat]')].map((e) => e.dataset.stat)")
	if want := []string{"Status", "Now", "Hottest window", "Peak", "Write shards"}; !slices.Equal(stats, want) {
		t.Errorf("the key's page has %q, want %q", stats, want)
	}
	p.do(chromedp.Navigate(f.URL + "/#/"))
	p.until(rowsShown + " > 50")
	rates := value[[]string](p, "[...document.querySelectorAll('.hot-list li:first-child .rates div.quiet')].slice(0, 3).map((e) => e.textContent)")
	heads := value[[]string](p, "[...document.querySelectorAll('#rows thead th')].map((e) => e.textContent.trim())")
	if fmt.Sprint(rates, heads) != "[Peak Hottest window Now] [Key Status ↓ Now Hottest window Write shards Throttled]" {
		t.Errorf("the panel has %q, the list %q", rates, heads)
	}
	filters(p)
	p.healthy()
}

// filters checks that a part of a name filters the keys. A filter without a match can be cleared in its notice.
func filters(p *tab) {
	p.t.Helper()
	p.do(chromedp.SendKeys(chromedp.CSS("#filter-text"), "ideo"+kb.Enter))
	p.until(rowsShown + " == 1")
	p.do(script("document.getElementById('filter-text').value = ''"), chromedp.SendKeys(chromedp.CSS("#filter-text"), "nobody"+kb.Enter))
	p.shows("No key matches. No key with writes in this time range contains nobody.")
	if value[bool](p, "!document.getElementById('drawn').hidden || !document.getElementById('rows-panel').hidden") {
		p.t.Error("the page shows an empty map")
	}
	p.do(chromedp.Click(chromedp.CSS("#notice button")))
	p.until(rowsShown + " > 50")
	if left := value[string](p, "location.hash + document.getElementById('filter-text').value"); left != "#/" {
		p.t.Errorf("the cleared filter left %s, want #/", left)
	}
}

// similar returns keys that differ only in their ends.
func similar(q heatQuery) object {
	var rows []object
	for _, key := range []string{"C#page/launch", "C#page/landing", "C#" + strings.Repeat("long/", 30) + "first", "C#" + strings.Repeat("long/", 30) + "second", "C#שלום עולם 1", "C#価格比較表価格比較表価格比較表の最後"} {
		units := make([]int, 30)
		for i := range units {
			units[i] = 24000
		}
		made := row(key, 1, "hot", 800, units)
		made["type"], made["name"], made["shards"], made["worst"] = "counter", key[2:], 4, "saturated"
		rows = append(rows, made)
	}
	covered := make([]float64, 30)
	for i := range covered {
		covered[i] = 1
	}
	return matrix(q.from, 30*time.Second, rows, covered)
}

// TestNarrowScreen checks that the list on a narrow screen keeps the ends of names, the status and the throttled writes,
// also after the screen has become narrower.
func TestNarrowScreen(t *testing.T) {
	t.Parallel()
	f := serve(t)
	f.with(func() { f.heat = similar })
	p := open(t, 1360, 900)
	p.do(chromedp.Navigate(f.URL))
	p.until(rowsShown + " == 6")
	wide := value[[]string](p, "[...document.querySelectorAll('#rows .name .key')].map((e) => e.textContent)")
	p.do(chromedp.EmulateViewport(400, 900), chromedp.Sleep(settle))
	names := value[[]string](p, "[...document.querySelectorAll('#rows .name .key')].map((e) => e.textContent)")
	for i, end := range []string{"launch", "landing", "first", "second", "1", "最後"} {
		at := slices.IndexFunc(names, func(name string) bool { return strings.HasSuffix(name, end) && strings.HasPrefix(name, "C#") })
		if at < 0 {
			t.Errorf("the names %q lack the end %q", names, end)
		}
		if i < 2 && !strings.HasSuffix(wide[i], "/"+end) {
			t.Errorf("on a wide screen the name is %q", wide[i])
		}
	}
	cut := "[...document.querySelectorAll('#rows .cell > a')].filter((e) => e.scrollWidth > e.clientWidth).length"
	if n := value[int](p, cut); n > 0 {
		t.Errorf("%d names are cut at their ends: %q", n, names)
	}
	heads := value[[]string](p, "[...document.querySelectorAll('#rows thead th')].filter((e) => e.checkVisibility()).map((e) => e.innerText.trim())")
	if fmt.Sprint(heads) != "[Key Status ↓ Now]" {
		t.Errorf("the columns are %q", heads)
	}
	p.do(chromedp.EmulateViewport(1360, 900), chromedp.Sleep(settle))
	if again := value[[]string](p, "[...document.querySelectorAll('#rows .name .key')].map((e) => e.textContent)"); !slices.Equal(again, wide) {
		t.Errorf("after the screen was narrow the names are %q, want %q", again, wide)
	}
	f.with(func() { f.heat = storm })
	p.do(chromedp.EmulateViewport(400, 900), chromedp.Reload())
	p.until(rowsShown + " > 50")
	row := value[string](p, "[...document.querySelectorAll('#rows tr.row')].find((r) => r.innerText.includes('C#video/7')).innerText")
	throttled := value[string](p, "[...document.querySelectorAll('#rows tr.row')].find((r) => r.innerText.includes('C#video/7')).querySelector('.c-throttled').innerText")
	if !strings.Contains(row, "cooled") || throttled == "" || throttled == "0" {
		t.Errorf("the row is %q, its throttled writes %q", row, throttled)
	}
	if wide := value[int](p, "document.documentElement.scrollWidth"); wide > 400 {
		t.Errorf("the page is %d wide", wide)
	}
	p.healthy()
}

// TestManyWriteShards checks that a row with 64 write shards unfolds to the hottest five and 59 more, which unfold, too.
// A write shard that never was hot has no sign.
func TestManyWriteShards(t *testing.T) {
	t.Parallel()
	f := serve(t)
	p := openMap(t, f)
	shards := "[...document.querySelectorAll('#rows tr.shard')].map((r) => r.querySelector('.key').textContent + r.querySelector('.sign').textContent)"
	p.do(script("document.querySelector('#rows .fold[aria-label*=\"C#video/7\"]').click()"))
	p.until("document.querySelectorAll('#rows tr.shard').length == 6")
	if got := value[[]string](p, shards); fmt.Sprint(got[:4]) != "[#0▽ #1▽ #2▽ #3▽]" || got[5] != "59 more" {
		t.Errorf("the hottest write shards are %q", got)
	}
	tall := "document.getElementById('map').offsetHeight"
	folded := value[int](p, tall)
	_, y := p.rowAt("59 more write shards")
	box := value[float64](p, "document.getElementById('map').getBoundingClientRect().x")
	p.do(chromedp.MouseClickXY(box+60, y))
	p.until("document.querySelectorAll('#rows tr.shard').length == 64")
	if now := value[int](p, tall); now < folded+58*10 {
		t.Errorf("the map is %d high with 6 write shards, and %d with 64", folded, now)
	}
	for i, got := range value[[]string](p, shards) {
		if want := fmt.Sprintf("#%d", i); !strings.HasPrefix(got, want) || i >= 16 && got != want {
			t.Errorf("write shard %d is %q", i, got)
		}
	}
	p.do(chromedp.Reload())
	p.until("document.querySelectorAll('#rows tr.shard').length == 64")
	p.do(script("document.querySelector('#rows .fold[aria-label*=\"C#video/7\"]').click()"))
	p.until("document.querySelectorAll('#rows tr.shard').length == 0 && location.hash == '#/'")
	p.do(script("document.querySelector('#rows .fold[aria-label*=\"C#video/7\"]').click()"))
	p.until("document.querySelectorAll('#rows tr.shard').length == 6")
	p.do(script("document.querySelector('#rows .fold[aria-label=\"Unfold 59 more write shards\"]').click()"))
	p.until("document.querySelectorAll('#rows tr.shard').length == 64")
	p.healthy()
}

// virtual makes the page's long timers end at once, and its clock advance by their time. Calls tell the clock.
const virtual = `{
	let now = %d;
	const timer = window.setTimeout, call = window.fetch;
	Date.now = () => now;
	window.setTimeout = (f, ms, ...rest) => ms < 1000 ? timer(f, ms, ...rest) : timer(() => { now += ms; f(...rest); }, 5);
	window.fetch = (url, options) => call(url, { ...options, headers: { ...options.headers, 'X-Clock': String(now) } });
}`

// TestNewestWindowIsShownAtOnce checks that the page polls within a second after a window is complete, also if windows
// are complete at other times than usual or the browser's clock is wrong, and that it polls rarely without new windows.
func TestNewestWindowIsShownAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lag, ahead time.Duration }{{time.Second, 7 * time.Second}, {5 * time.Second, 0}}[:require.UnlessQuick(2, 1)] {
		f := serve(t)
		polls, delays := 0, []time.Duration(nil)
		var shown time.Time
		f.with(func() {
			f.seen = func(r *http.Request) {
				var ms int64
				if _, err := fmt.Sscan(r.Header.Get("X-Clock"), &ms); err != nil || r.URL.Path != "/v1/heat" {
					return
				}
				now := time.UnixMilli(ms).Add(-c.ahead)
				asOf := now.Add(-c.lag).Truncate(10 * time.Second)
				if asOf.After(noon.Add(3 * time.Minute)) {
					asOf = noon.Add(3 * time.Minute) // nothing is written
				}
				if polls++; asOf.After(shown) {
					shown, delays = asOf, append(delays, now.Sub(asOf)-c.lag)
				}
				f.now = now
			}
			f.heat = func(q heatQuery) object {
				heat := similar(q)
				heat["as_of"] = stamp(shown)
				return heat
			}
		})
		p := openTab(t, 1000, 700, fmt.Sprintf(virtual, noon.Add(c.ahead+3*time.Second).UnixMilli()))
		p.do(chromedp.Navigate(f.URL))
		waitFor(t, func() (done bool) {
			f.with(func() { done = f.now.After(noon.Add(5 * time.Minute)) })
			return done
		})
		f.with(func() {
			learned := delays[8:]
			sum := time.Duration(0)
			for _, d := range learned {
				sum += d
			}
			if most := slices.Max(learned); most > time.Second {
				t.Errorf("%+v: a window was shown %v after it was complete", c, most)
			}
			t.Logf("%+v: shown %v after a window is complete on average, at most %v; %d polls in 5 min", c, sum/time.Duration(len(learned)), slices.Max(learned), polls)
			if polls > 50 { // 24 for 18 windows, 12 without, and those that learn
				t.Errorf("%+v: %d polls in 5 minutes", c, polls)
			}
		})
		p.healthy()
	}
}
