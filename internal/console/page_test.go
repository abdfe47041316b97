package console

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hotshard/hotshard/internal/lane"
)

const rowsShown = "document.querySelectorAll('#rows a').length"

// rowAt finds, by the tip that it gives, where a row of the map is, and puts the pointer there.
func (p *tab) rowAt(key string) (x, y float64) {
	p.t.Helper()
	at := value[[]float64](p, fmt.Sprintf(`(() => {
		const map = document.getElementById('map'), box = map.getBoundingClientRect(), x = box.x + 0.8 * box.width;
		for (let y = box.y + 70; y < box.bottom; y += 3) {
			map.dispatchEvent(new PointerEvent('pointermove', {clientX: x, clientY: y}));
			if (!map.querySelector('.tip').hidden && map.querySelector('.tip').innerText.includes(%q)) return [x, y];
		}
		return [];
	})()`, key))
	if len(at) == 0 {
		p.t.Fatalf("no place of the map is %s", key)
	}
	p.do(input.DispatchMouseEvent(input.MouseMoved, at[0]+1, at[1]+1))
	if tip := value[string](p, "document.querySelector('.tip').innerText"); !strings.Contains(tip, key) {
		p.t.Fatalf("beneath the pointer is %s", tip)
	}
	return at[0] + 1, at[1] + 1
}

// openMap opens the first page of a console that has 50 rows and more to show.
func openMap(t *testing.T, f *fake) *tab {
	t.Helper()
	p := open(t, 1360, 1000)
	p.do(chromedp.Navigate(f.URL))
	p.until(rowsShown + " > 50")
	return p
}

// TestViralRow: the hot row is seen, hovered, clicked, and its N is seen to grow.
func TestViralRow(t *testing.T) {
	t.Parallel()
	f := serve(t)
	p := openMap(t, f)
	if first := value[string](p, "document.querySelector('#rows a').innerText"); !strings.Contains(first, "C#video/7#1") || !strings.Contains(first, "saturated") {
		t.Errorf("the first of the rows is %q", first)
	}
	x, y := p.rowAt("C#video/7#0")
	p.shows("N = 4 write shards")
	tip := value[string](p, "document.querySelector('.tip').innerText")
	if !strings.Contains(tip, "hot") || !strings.Contains(tip, "at most") || !strings.Contains(tip, "% of a partition's limit") {
		t.Errorf("its tip: %s", tip)
	}
	p.do(chromedp.MouseClickXY(x, y))
	p.until("location.hash.startsWith('#/key?type=counter')")
	p.until("document.querySelector('[data-stat=N]')?.textContent == '4'")
	p.shows("812.5 write units a second on one write shard: 2 to 4")
	p.shows("raise its 4 write shards to 16")
	if spread := value[int](p, "document.querySelectorAll('.spread tbody tr').length"); spread != 2 {
		t.Errorf("%d write shards are shown", spread)
	}
	if command := value[string](p, "document.getElementById('set-command').textContent"); command != "bin/hotshard shards set --target http://127.0.0.1:8080 --type counter --name=video/7 --shards 16" {
		t.Errorf("the command is %q", command)
	}
	f.with(func() { f.setN(1, 2, 4, 16) })
	p.until("document.querySelector('[data-stat=N]')?.textContent == '16'")
	p.healthy()
}

// StartViral runs the whole system with a viral counter on it. It is set from outside this
// package, which the system imports.
var StartViral func(*testing.T) (url, counter string)

// TestViralRowOfTheSystem is the same with the system itself: from the map to the key's page,
// on which N grows.
func TestViralRowOfTheSystem(t *testing.T) {
	lane.NeedsEngine(t)
	t.Parallel()
	url, counter := StartViral(t)
	p := openTab(t, 1360, 1000, "")
	p.do(chromedp.Navigate(url))
	key := "C#" + counter + "#0"
	p.until(fmt.Sprintf("[...document.querySelectorAll('#rows a')].some((a) => a.innerText.includes(%q))", key))
	p.do(chromedp.Click("#pause", chromedp.ByQuery)) // the row keeps its place
	x, y := p.rowAt(key)
	p.do(chromedp.MouseClickXY(x, y))
	p.until("location.hash.startsWith('#/key?type=counter')")
	p.do(chromedp.Click("#pause", chromedp.ByQuery))
	p.until("Number(document.querySelector('[data-stat=N]')?.textContent) > 1")
	p.shows("write shards")
	p.until("document.querySelectorAll('.spread tbody tr').length > 1")
	t.Logf("N is %s", value[string](p, "document.querySelector('[data-stat=N]').textContent"))
	p.healthy()
}

// TestKeyboard: all rows are reached without a pointer, in the list and on the map.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	f := serve(t)
	p := openMap(t, f)
	p.do(chromedp.Focus("#rows a", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowDown))
	if at := value[string](p, "document.activeElement.innerText"); !strings.Contains(at, "C#video/7#0") {
		t.Errorf("after the arrow key: %q", at)
	}
	if value[bool](p, "document.querySelector('.rowbox').hidden") {
		t.Error("the row is not pointed out on the map")
	}
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until("location.hash.startsWith('#/key?')")
	p.do(chromedp.NavigateBack())
	p.until(rowsShown + " > 50")
	p.do(chromedp.Focus("#map", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowRight))
	if said := value[string](p, "document.querySelector('#map [aria-live]').textContent"); !strings.Contains(said, "write units/s") || !strings.Contains(said, "C#page/01") {
		t.Errorf("the map says %q", said)
	}
	p.do(chromedp.KeyEvent("+"))
	p.until("document.getElementById('map').dataset.zoom == '25.0-75.0'")
	p.do(chromedp.KeyEvent("0"))
	p.until("!document.getElementById('map').dataset.zoom")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until("location.hash.includes('prefix=C%23page%2F01')")
	p.until(rowsShown + " == 1") // the fake has one row that begins so
	p.healthy()
}

// TestPauseAndTheme: no call is made while the page is paused; the theme follows the system
// until a person chooses.
func TestPauseAndTheme(t *testing.T) {
	t.Parallel()
	f := serve(t)
	p := openMap(t, f)
	before := f.calls("/v1/heat")
	waitFor(t, func() bool { return f.calls("/v1/heat") > before })
	p.do(chromedp.Click("#pause", chromedp.ByQuery))
	p.shows("Paused")
	paused := f.calls("/v1/heat")
	theme := "document.documentElement.dataset.theme"
	if got := value[string](p, theme); got != "light" {
		t.Errorf("the theme is %s", got)
	}
	p.do(prefers("dark"))
	p.until(theme + " == 'dark'")
	p.do(chromedp.Click("#theme", chromedp.ByQuery))
	p.until(theme + " == 'light'")
	p.do(chromedp.Sleep(3500 * time.Millisecond)) // a poll is due after 3 s
	if got := f.calls("/v1/heat"); got != paused {
		t.Errorf("%d calls were made while it was paused", got-paused)
	}
	p.do(chromedp.Click("#pause", chromedp.ByQuery))
	waitFor(t, func() bool { return f.calls("/v1/heat") > paused })
	p.do(chromedp.Reload())
	p.until(theme + " == 'light'") // it is kept
	p.healthy()
}

func waitFor(t *testing.T, held func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !held(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to be")
		}
	}
}

// TestZoomAndRange: a frame drawn with the mouse zooms in to its times and rows; a longer
// time is asked for as such; a prefix, too.
func TestZoomAndRange(t *testing.T) {
	t.Parallel()
	f := serve(t)
	p := openMap(t, f)
	box := value[[]float64](p, "(() => { const b = document.getElementById('map').getBoundingClientRect(); return [b.x, b.y, b.width, b.height] })()")
	x, y := box[0]+box[2]/2, box[1]+box[3]/2
	p.do(input.DispatchMouseEvent(input.MousePressed, x, y).WithButton(input.Left).WithClickCount(1))
	for step := 20.0; step <= 160; step += 20 {
		p.do(input.DispatchMouseEvent(input.MouseMoved, x+step, y+step/2).WithButton(input.Left).WithButtons(1))
	}
	p.do(input.DispatchMouseEvent(input.MouseReleased, x+160, y+80).WithButton(input.Left).WithClickCount(1))
	p.until("!!document.getElementById('map').dataset.zoom")
	var from, to float64
	if _, err := fmt.Sscanf(value[string](p, "document.getElementById('map').dataset.zoom"), "%f-%f", &from, &to); err != nil || to-from > 40 || to-from < 5 {
		t.Errorf("zoomed to %v to %v %% of the time: %v", from, to, err)
	}
	if at := value[string](p, "location.hash"); at != "" {
		t.Errorf("the frame led to %s", at)
	}
	polls := f.calls("/v1/heat")
	waitFor(t, func() bool { return f.calls("/v1/heat") > polls })
	p.until("!!document.getElementById('state').textContent.includes('Live')")
	p.do(chromedp.Click("#zoom-in", chromedp.ByQuery))
	var from2, to2 float64
	if _, err := fmt.Sscanf(value[string](p, "document.getElementById('map').dataset.zoom"), "%f-%f", &from2, &to2); err != nil || math.Abs((to2-from2)-(to-from)/2) > 2 || from2 < from-3 || to2 > to+3 {
		t.Errorf("after a poll, half of %v to %v %% is %v to %v: %v", from, to, from2, to2, err)
	}
	p.do(chromedp.Click("#zoom-all", chromedp.ByQuery))
	p.until("!document.getElementById('map').dataset.zoom")
	var asked string
	f.with(func() {
		f.heat = func(from time.Time, prefix string) object {
			asked = fmt.Sprintf("%v %s", noon.Sub(from).Round(time.Hour), prefix)
			return only(viral(from, noon, 96), prefix)
		}
	})
	p.do(chromedp.Click("[data-range='24h']", chromedp.ByQuery))
	p.until("document.querySelector('[data-range=\"24h\"]').getAttribute('aria-pressed') == 'true'")
	p.until(rowsShown + " > 50")
	p.do(chromedp.SendKeys("#prefix", "C#video/"+kb.Enter, chromedp.ByQuery))
	p.until(rowsShown + " == 2")
	f.with(func() {
		if asked != "24h0m0s C#video/" {
			t.Errorf("asked for %s", asked)
		}
	})
	p.healthy()
}

// TestIndexAndEarlierTimes: the keys of an index are asked for by name; time before anything
// was known takes no room.
func TestIndexAndEarlierTimes(t *testing.T) {
	t.Parallel()
	f := serve(t)
	var asked string
	f.with(func() {
		f.heat = func(from time.Time, _ string) object {
			heat := viral(from, noon, 90)
			for i := range 60 {
				heat["covered"].([]float64)[i] = 0
			}
			heat["indexes"] = []string{"by_rank", hostile[0]}
			return heat
		}
		f.seen = func(r *http.Request) {
			if r.URL.Path == "/v1/heat" {
				asked = r.URL.Query().Get("index")
			}
		}
	})
	p := openMap(t, f)
	if columns := value[string](p, "document.getElementById('map').dataset.columns"); columns != "31" {
		t.Errorf("%s columns are shown, of 30 that are known", columns)
	}
	p.do(chromedp.Evaluate("{ const s = document.getElementById('index'); s.value = 'by_rank'; s.dispatchEvent(new Event('change')) }", nil))
	p.until("location.hash == '#/?index=by_rank'")
	p.until("document.getElementById('index')?.value == 'by_rank'")
	waitFor(t, func() (held bool) {
		f.with(func() { held = asked == "by_rank" })
		return held
	})
	p.do(chromedp.Navigate(f.URL + "/#/key?type=board&name=weekly"))
	p.until("!!document.querySelector('[data-stat=N]')")
	f.with(func() {
		if asked != "by_rank" {
			t.Errorf("a board's heat was asked for in the index %q", asked)
		}
	})
	p.healthy()
}

// TestHostileKeys: whatever a key is, no script of it runs, it is read as text, and it can be
// opened; also as a name in a command to copy.
func TestHostileKeys(t *testing.T) {
	t.Parallel()
	f := serve(t)
	f.with(func() {
		f.hot = nil
		for _, key := range hostile {
			hot := hotKey("C#"+key, key, "hot", 800, 2)
			hot["advice"] = "see " + key
			f.hot = append(f.hot, hot)
		}
		f.heat = func(from time.Time, _ string) object {
			var rows []object
			for i, key := range hostile {
				hot := row("C#"+key, 1, "hot", 800-float64(i), make([]uint64, 30))
				hot["type"], hot["name"], hot["index"] = "counter", key, "by_"+key
				for j := range 30 {
					hot["units"].([]uint64)[j] = 24000
				}
				rows = append(rows, hot)
			}
			covered := make([]float64, 30)
			for i := range covered {
				covered[i] = 1
			}
			return matrix(from, 30*time.Second, rows, covered)
		}
		f.shards["name"] = hostile[0]
		f.shards["history"] = []object{{"time": stamp(noon), "shards": 2, "by": hostile[1], "why": hostile[0]}}
		f.about.Table, f.about.Where = hostile[0], hostile[1]
	})
	p := open(t, 1360, 1000)
	p.do(chromedp.Navigate(f.URL))
	p.until(rowsShown + fmt.Sprintf(" == %d", len(hostile)))
	for _, seen := range []string{`C#<img src=x onerror=`, `C#</script><script>`, `line one\u{0a}line two\u{1b}[31mred\u{00}`, `abc\u{202e}gnp.exe\u{2066}\u{200f}`, "שלום עולם", `$(e)`, `\u{2028}h`} {
		p.shows(seen)
	}
	x, y := p.rowAt("onerror")
	p.do(chromedp.MouseClickXY(x, y))
	p.until("!!document.querySelector('[data-stat=N]')")
	p.shows("<img src=x onerror=")
	for i, key := range hostile {
		p.do(chromedp.Evaluate(fmt.Sprintf("location.hash = '#/key?' + new URLSearchParams({type: 'counter', name: %s})", quote(t, key)), nil))
		p.until(fmt.Sprintf("document.getElementById('set-command')?.textContent.includes(%q)", []string{`--name='<img`, `--name='</script>`, `--name=$'line one\x0aline two\x1b[31mred\x00' `, `\U0000202e`, `'שלום`, `--name=long/`, `a\'b"c`}[i]))
	}
	if value[bool](p, "'pwned' in window || document.querySelector('main img, main script') !== null") {
		t.Error("a key was markup")
	}
	p.healthy()
}

func quote(t *testing.T, text string) string {
	t.Helper()
	out, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestManyKeys: a day of 10,000 keys, in as many rows as the API hands out, and a list of as
// many hot keys. How long it takes is told, and not judged.
func TestManyKeys(t *testing.T) { // alone, since it takes the time
	f := serve(t)
	f.with(func() {
		f.hot = nil
		for i := range 10_000 {
			f.hot = append(f.hot, hotKey(fmt.Sprintf("C#user/%05d#0", i), fmt.Sprintf("user/%05d", i), "hot", 990-float64(i)/100, 1))
		}
		answer := day(240)
		f.heat = func(time.Time, string) object { return answer }
	})
	p := open(t, 1360, 1000)
	p.do(chromedp.Navigate(f.URL + "/#/?range=24h"))
	p.until("performance.getEntriesByName('usable map').length > 0")
	p.until(rowsShown + " == 256")
	p.shows("and 9,950 more")
	t.Logf("usable map of 256 rows and 240 columns %.0f ms after navigation (headless Chromium, software rendering, 2 cores)", value[float64](p, "performance.getEntriesByName('usable map')[0].startTime"))
	t.Logf("drawing it anew, zoomed: %.0f ms", value[float64](p, "(() => { const t = performance.now(); document.getElementById('zoom-in').click(); return performance.now() - t })()"))
	p.healthy()
}

// TestStates: with nothing to show, and when the API fails, the page says what to do.
func TestStates(t *testing.T) {
	t.Parallel()
	f := serve(t)
	f.with(func() {
		f.hot = []object{}
		f.heat = func(from time.Time, _ string) object {
			return matrix(from, 10*time.Second, []object{}, make([]float64, 90))
		}
	})
	p := open(t, 1360, 1000)
	p.do(chromedp.Navigate(f.URL))
	p.shows("No heat yet")
	p.shows("bin/hotshard load --workload viral --count 20000 --target " + f.URL)
	p.shows("None in the last 15 minutes.")
	for status, says := range map[int]string{http.StatusForbidden: "You may not read the heat.", http.StatusServiceUnavailable: "DynamoDB does not answer", http.StatusNotFound: "no such call", http.StatusInternalServerError: "Internal Server Error (status 500)"} {
		f.with(func() { f.status = status })
		p.do(chromedp.Reload())
		p.shows(says)
		p.shows("the reason, in words")
	}
	f.with(func() {
		f.status = 0
		f.heat = func(from time.Time, _ string) object { return viral(from, noon, 90) }
	})
	p.until(rowsShown + " > 50") // it recovers by itself
	f.Close()
	p.shows("No answer from " + f.URL)
	if value[int](p, rowsShown) < 50 {
		t.Error("what was known is gone")
	}
	p.healthy("Failed to load resource", "ERR_CONNECTION")
}

// TestTableMode: a table that hotshard did not shard has a map and hot keys, and no more is asked for.
func TestTableMode(t *testing.T) {
	t.Parallel()
	f := serve(t)
	f.with(func() {
		f.about = About{Mode: "table", Table: "orders", Where: "eu-central-1"}
		hot := hotKey("user#7", "", "hot", 810, 1)
		delete(hot, "type")
		hot["type"], hot["name"] = "other", "user#7"
		f.hot = []object{hot}
		f.heat = func(from time.Time, prefix string) object {
			covered := []float64{1, 1, 1, 1, 1, 1}
			return only(matrix(from, time.Minute, []object{row("user#", 90, "warm", 3, []uint64{9, 9, 9, 9, 9, 9}), row("user#7", 1, "hot", 810, []uint64{9, 90, 900, 48000, 48000, 48000})}, covered), prefix)
		}
	})
	p := open(t, 1360, 1000)
	p.do(chromedp.Navigate(f.URL))
	p.until(rowsShown + " == 2")
	p.shows("table orders")
	for _, title := range []string{"Counter", "Leaderboard", "Pipeline", "First steps"} {
		if strings.Contains(p.text(), title) {
			t.Errorf("it shows %s", title)
		}
	}
	p.do(chromedp.Click("#side ol a", chromedp.ByQuery))
	p.until("location.hash == '#/key?key=user%237'")
	p.shows("81 %")
	f.with(func() {
		for path := range f.asked {
			if path != "/v1/heat" && path != "/v1/hot-keys" {
				t.Errorf("it asked for %s", path)
			}
		}
	})
	p.healthy()
}

// TestCounterAndBoard: what a person names is shown beside the map.
func TestCounterAndBoard(t *testing.T) {
	t.Parallel()
	f := serve(t)
	p := open(t, 1360, 1400)
	p.do(chromedp.Navigate(f.URL))
	p.until(rowsShown + " > 50")
	p.do(chromedp.SendKeys("#Name-of-a-counter", "page/home"+kb.Enter, chromedp.ByQuery))
	p.shows("9,120,455")
	p.shows("9,120,512")
	p.shows("57")
	p.do(chromedp.SendKeys("#Name-of-a-board", "weekly"+kb.Enter, chromedp.ByQuery))
	p.shows("player-71")
	p.shows("0.4 s behind the stream")
	p.healthy()
}

// TestAccessible: axe finds no serious fault, light and dark, wide and narrow, on each page.
func TestAccessible(t *testing.T) {
	t.Parallel()
	f := serve(t)
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	report := "file://" + reportFile(t, sampleReport())
	for _, page := range []struct{ url, ready string }{
		{f.URL + "/", rowsShown + " > 50"},
		{f.URL + "/#/key?type=counter&name=video%2F7", "!!document.querySelector('[data-stat=N]')"},
		{report, "document.documentElement.dataset.ready == 'yes'"},
	} {
		p := open(t, 1360, 1000)
		p.do(chromedp.Navigate(page.url))
		for _, look := range []struct {
			theme string
			width int64
		}{{"light", 1360}, {"dark", 400}} {
			p.do(prefers(look.theme), chromedp.EmulateViewport(look.width, 1000))
			p.until(page.ready)
			p.until(fmt.Sprintf("document.documentElement.dataset.theme == %q", look.theme))
			p.do(chromedp.Evaluate(string(axe), nil))
			var faults []string
			p.do(chromedp.Evaluate(`axe.run({resultTypes: ['violations']}).then((r) => r.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical').map((v) => v.id + ': ' + v.help + ' ' + v.nodes.map((n) => n.target + ' ' + n.failureSummary).slice(0, 3).join('; ')))`, &faults, awaited))
			for _, fault := range faults {
				t.Errorf("%s, %s, %d wide: %s", page.url, look.theme, look.width, fault)
			}
			if wide := value[int](p, "document.documentElement.scrollWidth"); wide > int(look.width) {
				t.Errorf("%s is %d wide on a screen of %d", page.url, wide, look.width)
			}
		}
	}
}

// TestReportPage: without a network it shows all that is in it, also hostile text, and asks for nothing.
func TestReportPage(t *testing.T) {
	t.Parallel()
	data := sampleReport()
	data["table"] = hostile[0]
	data["todo"] = append(data["todo"].([]string), hostile...)
	data["storms"].([]object)[0]["key"] = hostile[1]
	p := open(t, 1200, 1000)
	p.do(network.Enable(), network.EmulateNetworkConditions(true, 0, 0, 0))
	p.do(chromedp.Navigate("file://" + reportFile(t, data)))
	p.until("document.documentElement.dataset.ready == 'yes'")
	for _, seen := range []string{`table <img src=x onerror=`, "Two keys of orders", "rising sort keys", "1,480/s", "1,391 – 1,584", "shardId-00000001763850000000-7d1c2f30", "5,400 GetRecords", "$0.011", "abc\\u{202e}gnp", "2 % of the stream"} {
		p.shows(seen)
	}
	if value[bool](p, "'pwned' in window || performance.getEntriesByType('resource').length > 0") {
		t.Error("a text was markup, or something was asked for")
	}
	p.rowAt("C#video/7#1")
	p.healthy()
}

// TestReportIsSmall: the most rows and columns, with large units, are at most 2 MB.
func TestReportIsSmall(t *testing.T) {
	heat := day(240)
	for _, r := range heat["rows"].([]object) {
		for i := range r["units"].([]uint64) {
			r["units"].([]uint64)[i] += 1_000_000
			r["error"].([]uint64)[i] = 123_456
		}
	}
	data := sampleReport()
	data["heat"] = heat
	page, err := Report(data)
	if err != nil || len(page) > 2_000_000 {
		t.Errorf("%d bytes, %v", len(page), err)
	}
	t.Logf("%d bytes", len(page))
}

// awaited waits for the promise that an expression is.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
