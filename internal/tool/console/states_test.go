package console

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestStates checks the notices of a page without heat and of one whose calls fail, and that it recovers.
func TestStates(t *testing.T) {
	t.Parallel()
	f := serve(t)
	f.with(func() {
		f.hot = []object{}
		f.heat = func(q heatQuery) object {
			return matrix(q.from, 10*time.Second, []object{}, make([]float64, 90))
		}
	})
	p := open(t, 1360, 1000)
	p.do(chromedp.Navigate(f.URL))
	p.shows("No heat yet")
	p.shows("bin/hotshard load --workload viral --rate 200 --count 6000 --concurrency 200 --target " + f.URL)
	p.shows("None in the last 15 minutes.")
	f.with(func() { f.about.Start = "bin/hotshard local" })
	p.do(chromedp.Reload())
	p.shows("bin/hotshard demo --addr 127.0.0.1:") // since this server has no limiter
	for status, notice := range map[int]string{
		http.StatusForbidden: "Access denied.", http.StatusUnauthorized: "Access denied.", http.StatusServiceUnavailable: "DynamoDB does not answer",
		http.StatusNotFound: "doesn't know this call", http.StatusInternalServerError: "Internal Server Error (status 500)",
	} {
		f.with(func() { f.status = status })
		p.do(chromedp.Reload())
		p.shows(notice)
		p.shows("the reason, in words")
		p.shows("Disconnected")
	}
	f.with(func() { f.status, f.heat = 0, storm })
	p.until(rowsShown + " > 50")
	p.healthy("Failed to load resource")
}

// TestTableMode checks that the page of a table without write shards has a map and hot keys. It must make no other
// calls.
func TestTableMode(t *testing.T) {
	t.Parallel()
	f := serve(t)
	f.with(func() {
		f.about = About{Mode: "table", Table: "orders", Where: "eu-central-1"}
		hot := hotKey("user#7", "", "hot", 810, 1)
		delete(hot, "type")
		hot["type"], hot["name"] = "other", "user#7"
		f.hot = []object{hot}
		f.heat = func(q heatQuery) object {
			covered := []float64{1, 1, 1, 1, 1, 1}
			return only(matrix(q.from, time.Minute, []object{row("user#", 90, "normal", 3, []int{9, 9, 9, 9, 9, 9}), row("user#7", 1, "hot", 810, []int{9, 90, 900, 48000, 48000, 48000})}, covered), q.filter)
		}
	})
	p := open(t, 1360, 1000)
	p.do(chromedp.Navigate(f.URL))
	p.until(rowsShown + " == 2")
	p.shows("table orders")
	for _, title := range []string{"Counter", "Leaderboard", "First steps"} {
		if strings.Contains(p.text(), title) {
			t.Errorf("the page shows %s", title)
		}
	}
	p.do(chromedp.Click(chromedp.CSS("#side ol a")))
	p.until("location.hash == '#/key?key=user%237'")
	p.shows("810 WCU/s")
	f.with(func() {
		for path := range f.asked {
			if path != "/v1/heat" && path != "/v1/hot-keys" {
				t.Errorf("the page called %s", path)
			}
		}
	})
	p.healthy()
}

// TestAccessible checks that axe finds no serious violation on any page, in both themes, wide and narrow; without the full
// run each page in one of them.
func TestAccessible(t *testing.T) {
	t.Parallel()
	f := serve(t)
	axe, err := os.ReadFile("testdata/axe.min.js")
	require.NoError(t, err)
	file := write(t, sampledDay(), fileAbout("1.7% of the stream was read."))
	type look struct {
		theme string
		width int64
	}
	looks := []look{{"light", 1360}, {"dark", 400}}
	p := open(t, 1360, 1000)
	for i, page := range []struct{ url, ready string }{
		{f.URL + "/#/?unfold=C%23video%2F7", rowsShown + " > 100"},
		{f.URL + "/#/key?type=counter&name=video%2F7", "!!document.querySelector('[data-stat]')"},
		{file, rowsShown + " > 50"},
	} {
		p.do(chromedp.Navigate(page.url))
		first := i % 2
		for _, look := range looks[require.UnlessQuick(0, first):require.UnlessQuick(2, first+1)] {
			p.do(prefers(look.theme), chromedp.EmulateViewport(look.width, 1000))
			p.until(page.ready)
			p.until(fmt.Sprintf("document.documentElement.dataset.theme == %q", look.theme))
			p.do(script(string(axe)))
			faults := value[[]string](p, `axe.run({resultTypes: ['violations']}).then((r) => r.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical').map((v) => v.id + ': ' + v.help + ' ' + v.nodes.map((n) => n.target + ' ' + n.failureSummary).slice(0, 3).join('; ')))`, chromedp.EvalAwaitPromise)
			for _, fault := range faults {
				t.Errorf("%s, %s, %d wide: %s", page.url, look.theme, look.width, fault)
			}
			if wide := value[int](p, "document.documentElement.scrollWidth"); wide > int(look.width) {
				t.Errorf("%s is %d wide on a screen of %d", page.url, wide, look.width)
			}
		}
	}
}
