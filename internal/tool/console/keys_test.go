package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestHostileKeys checks that the page shows hostile keys as text, opens their pages, and quotes them in commands.
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
		f.heat = func(q heatQuery) object {
			var rows []object
			for i, key := range hostile {
				hot := row("C#"+key, 1, "hot", 800-float64(i), make([]int, 30))
				hot["type"], hot["name"], hot["index"] = "counter", key, "by_"+key
				for j := range 30 {
					hot["units"].([]int)[j] = 24000
				}
				rows = append(rows, hot)
			}
			covered := make([]float64, 30)
			for i := range covered {
				covered[i] = 1
			}
			return matrix(q.from, 30*time.Second, rows, covered)
		}
		f.shards["name"] = hostile[0]
		f.shards["history"] = []object{{"time": stamp(noon), "shards": 2, "by": hostile[1], "why": hostile[0]}}
		f.about.Table, f.about.Where = hostile[0], hostile[1]
	})
	p := open(t, 1360, 1000)
	p.do(chromedp.Navigate(f.URL))
	p.until(rowsShown + fmt.Sprintf(" == %d", len(hostile)))
	for _, text := range []string{`C#<img src=x onerror=`, `C#</script><script>`, `line one\u{0a}line two\u{1b}[31mred\u{00}`, `abc\u{202e}gnp.exe\u{2066}\u{200f}`, "שלום עולם", `$(e)`, `\u{2028}h`} {
		p.shows(text)
	}
	x, y := p.rowAt("onerror")
	p.do(chromedp.MouseClickXY(x, y))
	p.until("!!document.querySelector('[data-stat]')")
	p.shows("<img src=x onerror=")
	for i, key := range hostile {
		p.do(script(fmt.Sprintf("location.hash = '#/key?' + new URLSearchParams({type: 'counter', name: %s})", quote(t, key))))
		p.until("document.getElementById('pin')?.value == ''") // the page of this key
		p.do(chromedp.SendKeys(chromedp.CSS("#pin"), "2"))
		p.until(fmt.Sprintf("document.getElementById('set-command')?.textContent.includes(%q)", []string{`--name='<img`, `--name='</script>`, `--name=$'line one\x0aline two\x1b[31mred\x00' `, `\U0000202e`, `'שלום`, `--name=long/`, `a\'b"c`}[i]))
	}
	if value[bool](p, "'pwned' in window || document.querySelector('main img, main script') !== null") {
		t.Error("the page parsed a key as markup")
	}
	p.healthy()
}

func quote(t *testing.T, text string) string {
	t.Helper()
	out, err := json.Marshal(text)
	require.NoError(t, err)
	return string(out)
}

// TestIndexAndEarlierTimes checks that the page requests an index's keys by its name. The map omits unread columns at
// its start.
func TestIndexAndEarlierTimes(t *testing.T) {
	t.Parallel()
	f := serve(t)
	var asked string
	f.with(func() {
		f.heat = func(q heatQuery) object {
			heat := storm(q)
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
		t.Errorf("the map has %s columns, want 30 and one unread", columns)
	}
	p.do(script("{ const s = document.getElementById('index'); s.value = 'by_rank'; s.dispatchEvent(new Event('change')) }"))
	p.until("location.hash == '#/?index=by_rank'")
	p.until("document.getElementById('index')?.value == 'by_rank'")
	waitFor(t, func() (held bool) {
		f.with(func() { held = asked == "by_rank" })
		return held
	})
	p.do(chromedp.Navigate(f.URL + "/#/key?type=board&name=weekly"))
	p.until("!!document.querySelector('[data-stat]')")
	f.with(func() {
		if asked != "by_rank" {
			t.Errorf("the page of a board requested the index %q, want by_rank", asked)
		}
	})
	p.healthy()
}

// TestPauseAndTheme checks that a paused page makes no calls. The theme follows the system until the user chooses one.
func TestPauseAndTheme(t *testing.T) {
	t.Parallel()
	f := serve(t)
	p := openMap(t, f)
	before := f.calls("/v1/heat")
	waitFor(t, func() bool { return f.calls("/v1/heat") > before })
	p.do(chromedp.Click(chromedp.CSS("#pause")))
	p.shows("Paused")
	paused := f.calls("/v1/heat")
	theme := "document.documentElement.dataset.theme"
	if got := value[string](p, theme); got != "light" {
		t.Errorf("the theme is %s, want the system's: light", got)
	}
	p.do(prefers("dark"))
	p.until(theme + " == 'dark'")
	p.do(chromedp.Click(chromedp.CSS("#theme")))
	p.until(theme + " == 'light'")
	p.do(chromedp.Sleep(10500 * time.Millisecond)) // polls are 10 s apart
	if got := f.calls("/v1/heat"); got != paused {
		t.Errorf("the paused page made %d calls", got-paused)
	}
	p.do(chromedp.Click(chromedp.CSS("#pause")))
	waitFor(t, func() bool { return f.calls("/v1/heat") > paused })
	p.do(chromedp.Reload())
	p.until(theme + " == 'light'") // the choice survives the reload
	p.healthy()
}
