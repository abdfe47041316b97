package console

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// later moves the fake's clock, and waits until the page has polled.
func (p *tab) later(f *fake, by time.Duration) {
	p.t.Helper()
	f.with(func() { f.now = f.now.Add(by) })
	p.nextPoll(f)
}

// TestPollsKeepThePage checks that polls keep scroll positions, selected text, focus, open tip, unfolded rows and zoom.
func TestPollsKeepThePage(t *testing.T) {
	t.Parallel()
	f := serve(t)
	p := open(t, 1360, 700)
	p.do(chromedp.Navigate(f.URL + "/#/?unfold=C%23video%2F7&all=C%23video%2F7&zoom=1795434600-1795434900"))
	p.until("document.querySelectorAll('#rows tr.shard').length == 64")
	p.rowAt("C#video/7#3")
	state := `JSON.stringify([getSelection().toString(), scrollY, document.getElementById('rows').scrollTop, document.activeElement.dataset.at,
		document.querySelector('.tip').hidden, document.querySelector('.tip').innerText, location.hash, document.querySelectorAll('#rows tr.shard').length])`
	p.do(script(`{
		document.querySelectorAll('#rows tr.row')[5].focus({preventScroll: true});
		document.getElementById('rows').scrollTop = 300;
		getSelection().selectAllChildren(document.querySelector('.hot-list .advice span'));
	}`))
	before := value[string](p, state)
	for range 3 {
		p.later(f, 10*time.Second)
		if after := value[string](p, state); after != before {
			t.Fatalf("a poll changed the page from\n%s to\n%s", before, after)
		}
	}
	if selected := value[string](p, "getSelection().toString()"); selected != "Using at least 87% of its partition's 1,000 WCU/s: increase from 2 to 8 write shards." {
		t.Errorf("the selected text is %q", selected)
	}
	p.healthy()
}

// TestAddress checks that the address has the metric, brightness, zoom, order, unfolded rows and range. A reload
// restores them.
func TestAddress(t *testing.T) {
	t.Parallel()
	f := serve(t)
	p := openMap(t, f)
	p.do(chromedp.Click(chromedp.CSS("[data-metric=throttled]")))
	p.until("location.hash.includes('metric=throttled')")
	p.do(script("{ const g = document.getElementById('gain'); g.value = '2'; g.dispatchEvent(new Event('input')) }"))
	p.do(chromedp.Click(chromedp.CSS("#zoom-in")), chromedp.Click(chromedp.CSS("[data-sort=shards]")))
	p.do(script("document.querySelector('#rows .fold[aria-label]').click()"))
	p.until("location.hash.includes('unfold=')")
	at := value[string](p, "location.hash")
	if at != "#/?metric=throttled&gain=2&zoom=1795434525-1795434975&sort=-shards&unfold=C%23video%2F7" {
		t.Errorf("the address is %s", at)
	}
	p.do(chromedp.Reload())
	p.until("document.querySelectorAll('#rows tr.shard').length == 6")
	state := value[string](p, "[document.querySelector('[data-metric=throttled]').ariaPressed, document.getElementById('gain').value, document.querySelector('.c-shards').ariaSort].join()")
	if state != "true,2,descending" || value[string](p, "location.hash") != at {
		t.Errorf("after a reload: %s at %s", state, value[string](p, "location.hash"))
	}
	p.do(chromedp.Click(chromedp.CSS("#zoom-reset")))
	p.until("!location.hash.includes('zoom')")
	var asked heatQuery
	f.with(func() {
		f.heat = func(q heatQuery) object {
			asked = q
			return storm(q)
		}
	})
	p.do(chromedp.Click(chromedp.CSS(".custom summary")))
	p.do(script("document.querySelector('[name=from]').value = '2026-11-23T17:20:00'; document.querySelector('[name=to]').value = '2026-11-23T17:25:00'"),
		chromedp.Click(chromedp.CSS(".custom form button")))
	p.until("location.hash.includes('from=2026-11-23T11%3A50%3A00Z&to=2026-11-23T11%3A55%3A00Z')")
	p.until("document.getElementById('map').dataset.columns == '30'")
	f.with(func() {
		if got := fmt.Sprint(asked.from.Sub(noon), asked.to.Sub(noon)); got != "-10m0s -5m0s" {
			t.Errorf("the page requested noon %s, want -10m0s -5m0s", got)
		}
	})
	p.healthy()
}
