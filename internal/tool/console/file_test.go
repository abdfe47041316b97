package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/test/require"
)

// dayOf is a source of heat.
type dayOf []heat.Window

func (d dayOf) Windows(_ context.Context, from, to time.Time, _ time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		for _, w := range d {
			if !w.Start.Before(from) && w.Start.Before(to) && !yield(w, nil) {
				return
			}
		}
	}
}

// sampledDay returns a window in every ten minutes of the day before noon. A hostile key is saturated in the morning,
// and a key of the index by_place to the end.
func sampledDay() (day dayOf) {
	for start := noon.Add(-24 * time.Hour); start.Before(noon); start = start.Add(10 * time.Minute) {
		last := start.Add(10 * time.Minute).Equal(noon)
		if last {
			start = noon.Add(-10 * time.Second)
		}
		it := heat.Item{Table: "orders", Start: start, Window: 10 * time.Second, StreamShard: "s", Limit: 1000, HotRate: 700, IndexUnits: map[string]uint64{"by_place": 8000}}
		add := func(key, index string, units uint64) {
			it.Keys = append(it.Keys, heat.Key{Key: key, Index: index, Units: units, Writes: units, Peak: units / 9, PeakAt: start})
			if index == "" {
				it.Units, it.Records = it.Units+units, it.Records+units
			}
		}
		for i, key := range hostile {
			if i == 1 && start.Hour() < 8 {
				add(key, "", 9800)
			} else {
				add(key, "", uint64(300+i))
			}
		}
		for i := range 400 {
			add(fmt.Sprintf("user#%04d", i), "", uint64(20+(i*7+start.Minute())%50))
		}
		add("de|berlin", "by_place", 8000)
		day = append(day, heat.Window{Start: start, Items: []heat.Item{it}})
	}
	return day
}

// heatAPI returns the calls for a source of heat, with noon as now.
func heatAPI(source heat.Source) http.Handler {
	h := query.NewHeat(source, query.HeatOptions{Table: "orders", Deadline: patience, Now: func() time.Time { return noon }})
	return httpapi.New(slog.New(slog.DiscardHandler), query.HeatRoutes(h))
}

// fileAbout describes the file of a table.
func fileAbout(coverage string) About {
	return About{
		Mode: "table", Table: "orders", Where: "eu-central-1", Version: "0.9.0", File: &FileInfo{Made: noon, Coverage: coverage},
	}
}

// write writes the file of a source, and returns its URL.
func write(t *testing.T, source heat.Source, about About) (url string) {
	t.Helper()
	page, err := File(t.Context(), heatAPI(source), about, noon.Add(-24*time.Hour), noon)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "heat.html")
	require.NoError(t, os.WriteFile(path, page, 0o600))
	return "file://" + path
}

// requests has the URLs that a tab has requested.
type requests struct {
	mu   sync.Mutex
	urls []string
}

// offline disconnects a tab, and returns its requests.
func offline(p *tab) *requests {
	r := &requests{}
	err := chromedp.Listen(p.ctx, func(event any) {
		if sent, ok := event.(*network.EventRequestWillBeSent); ok {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.urls = append(r.urls, sent.Request.URL)
		}
	})
	if err != nil {
		p.t.Fatal(err)
	}
	offline := network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{{Offline: true}}}
	p.do(call(network.Enable, network.EnableParams{}), call(network.EmulateNetworkConditionsByRule, offline))
	return r
}

// drawn has what a page shows of the map.
const drawn = `JSON.stringify([[...document.querySelectorAll('#rows tr.row')].map((r) => r.innerText), document.getElementById('map').dataset.columns, document.getElementById('legend').innerText])`

// TestFileShowsWhatTheServerShows checks that a file shows the same rows, columns and legend as the served page, for the
// table and for its index, and makes no request.
func TestFileShowsWhatTheServerShows(t *testing.T) {
	t.Parallel()
	day := sampledDay()
	const coverage = "1.7% of the stream was read."
	about := fileAbout(coverage)
	live := about
	live.File = nil
	server := httptest.NewServer(Handler(heatAPI(day), live))
	t.Cleanup(server.Close)
	served, file := open(t, 1360, 1000), open(t, 1360, 1000)
	sent := offline(file)
	url := write(t, day, about)
	span := fmt.Sprintf("from=%s&to=%s", noon.Add(-24*time.Hour).Format(time.RFC3339), noon.Format(time.RFC3339))
	for _, index := range []string{"", "by_place"} {
		at := "#/?" + span
		if index != "" {
			at += "&index=" + index
		}
		served.do(chromedp.Navigate(server.URL + "/" + at))
		file.do(chromedp.Navigate(url + at))
		for _, p := range []*tab{served, file} {
			p.until(fmt.Sprintf("document.querySelector('#rows tr.row')?.innerText.includes('by_place') == %t", index != ""))
		}
		if want, got := value[string](served, drawn), value[string](file, drawn); want != got || len(want) < 200 {
			t.Errorf("index %q: the file shows\n%.500s\nwant\n%.500s", index, got, want)
		}
	}
	file.shows(coverage)
	if got := slices.DeleteFunc(sent.urls, func(u string) bool { return strings.HasPrefix(u, url) || strings.HasPrefix(u, "data:") }); len(got) > 0 {
		t.Errorf("the file requested %q", got)
	}
	file.healthy()
}

// TestFileAnswersGestures checks a file's tip, key pages, themes and zoom. It shows nothing that needs a server, and
// hostile keys as text.
func TestFileAnswersGestures(t *testing.T) {
	t.Parallel()
	p := open(t, 1360, 1000)
	p.do(chromedp.Navigate(write(t, sampledDay(), fileAbout("Coverage."))))
	p.until(rowsShown + " > 50")
	for _, hidden := range []string{"#filter", "#pause", "#why", "#ranges button", ".custom", "#steps"} {
		if value[bool](p, fmt.Sprintf("!!document.querySelector(%q)?.checkVisibility()", hidden)) {
			t.Errorf("the file shows %s", hidden)
		}
	}
	p.shows("made 2026-11-23 12:00:00 UTC; it does not change")
	p.shows("Hot at the end")
	x, y := p.rowAt(hostile[1])
	p.do(chromedp.MouseClickXY(x, y))
	p.until("location.hash.startsWith('#/key?key=')")
	p.until("document.querySelector('[data-stat=\"Status\"]')?.textContent.includes('cooled')")
	p.shows("980 WCU/s")
	p.do(chromedp.KeyEvent(kb.Home), chromedp.Click(chromedp.CSS(".back")))
	p.until(rowsShown + " > 50")
	p.do(chromedp.Click(chromedp.CSS("#theme")))
	p.until("document.documentElement.dataset.theme == 'dark'")
	p.do(chromedp.Focus(chromedp.CSS("#map")), chromedp.KeyEvent("+"))
	p.until("location.hash.includes('zoom=')")
	if value[bool](p, "[...document.querySelectorAll('#rows a')].some((a) => a.textContent.includes('×'))") {
		t.Error("a range of keys links to a filter, which needs a server")
	}
	if value[bool](p, "'pwned' in window") {
		t.Error("the file parsed a key as markup")
	}
	p.healthy()
}

// TestFileKeepsItsData checks that a file has the answers unchanged, and that none can end the script element.
func TestFileKeepsItsData(t *testing.T) {
	page, err := File(t.Context(), heatAPI(sampledDay()), fileAbout("<!--</script>"), noon.Add(-24*time.Hour), noon)
	require.NoError(t, err)
	text := string(page)
	for markup, want := range map[string]int{"<script": 2, "</script": 2, "</style": 1, "<!--": 0, "\u2028": 0, "/console/": 0} {
		body := strings.ReplaceAll(text, string(asset("dist/console.js")), "")
		body = strings.ReplaceAll(body, `"/console/about"`, "")
		if n := strings.Count(body, markup); n != want {
			t.Errorf("the file has %q %d times, want %d", markup, n, want)
		}
	}
	_, data, _ := strings.Cut(text, `id="data">`)
	data, _, _ = strings.Cut(data, "</script>")
	var back map[string]struct {
		File struct{ Coverage string }
		Rows []struct{ Key string }
		Keys []struct{ Key string }
	}
	require.NoError(t, json.Unmarshal([]byte(data), &back))
	for _, key := range hostile {
		if !slices.ContainsFunc(back["/v1/heat"].Rows, func(r struct{ Key string }) bool { return r.Key == key }) {
			t.Errorf("no row has the key %.40q", key)
		}
	}
	if back["/console/about"].File.Coverage != "<!--</script>" || back["/v1/hot-keys"].Keys[0].Key != "de|berlin" || len(back["/v1/heat?index=by_place"].Rows) != 1 {
		t.Errorf("the data is %.600s", data)
	}
}

// TestFileIsBounded checks the size of files: with 256 rows of 240 columns, and with indexes that need fewer rows.
func TestFileIsBounded(t *testing.T) {
	row := func(i int) object {
		units := make([]int, 240)
		for c := range units {
			units[c] = 1_000_000 + c
		}
		return object{"key": fmt.Sprintf("key-%04d-%s", i, strings.Repeat("x", 200)), "keys": 1, "status": "hot", "worst": "hot", "units": units, "error": units, "heaviest": units}
	}
	file := func(indexes ...string) int {
		api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var n int
			_, _ = fmt.Sscan(r.URL.Query().Get("rows"), &n)
			out := object{"from": stamp(noon.Add(-24 * time.Hour)), "to": stamp(noon), "step": "6m", "indexes": indexes, "rows": []object{}}
			for i := range n {
				out["rows"] = append(out["rows"].([]object), row(i))
			}
			writeJSON(w, out)
		})
		page, err := File(t.Context(), api, fileAbout(""), noon.Add(-24*time.Hour), noon)
		require.NoError(t, err)
		return len(page)
	}
	if n := file(); n > 2_300_000 {
		t.Errorf("a file with 256 full rows has %d bytes, want at most 2,300,000", n)
	}
	if n := file("a", "b", "c", "d", "e", "f", "g", "h"); n > maxBytes || n < maxBytes/4 {
		t.Errorf("a file with nine maps has %d bytes, want at most %d", n, maxBytes)
	}
}

// TestFileFails checks that a failing call is an error with its reason.
func TestFileFails(t *testing.T) {
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no heat", http.StatusServiceUnavailable) })
	if _, err := File(t.Context(), api, About{}, noon.Add(-time.Hour), noon); err == nil || !strings.Contains(err.Error(), "status 503: no heat") {
		t.Errorf("error %v, want the status and the reason", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := File(ctx, heatAPI(dayOf{}), About{}, noon.Add(-time.Hour), noon); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after an interrupt", err)
	}
}
