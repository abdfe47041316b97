package console

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	rowsShown = "document.querySelectorAll('#rows tr.row').length"
	theTip    = "document.querySelector('.tip')"
)

// settle is the time that charts need before their pixels are read.
const settle = 300 * time.Millisecond

// rowAt moves the pointer to a row of the map, which it finds by its tip. If a poll moves the row, it finds it again.
func (p *tab) rowAt(key string) (x, y float64) {
	p.t.Helper()
	p.do(script("document.getElementById('map').scrollIntoView({block: 'nearest'})"))
	tip := ""
	for end := time.Now().Add(patience); time.Now().Before(end); {
		at := value[[]float64](p, fmt.Sprintf(`(() => {
			const map = document.getElementById('map'), box = map.getBoundingClientRect(), x = box.x + 0.8 * box.width;
			for (let y = box.y + 90; y < box.bottom; y += 3) {
				map.dispatchEvent(new PointerEvent('pointermove', {clientX: x, clientY: y}));
				if (!map.querySelector('.tip').hidden && map.querySelector('.tip').innerText.includes(%q)) return [x, y];
			}
			return [];
		})()`, key))
		if len(at) == 0 {
			tip = "missing: the map has no such row"
			continue
		}
		p.do(chromedp.MouseEvent(chromedp.MouseMoved, at[0]+1, at[1]+1))
		if tip = value[string](p, theTip+".innerText"); strings.Contains(tip, key) {
			return at[0] + 1, at[1] + 1
		}
	}
	p.t.Fatalf("for %v the tip of row %s is %s", patience, key, tip)
	return 0, 0
}

// openMap opens the overview, and waits until it has more than 50 rows.
func openMap(t *testing.T, f *fake) *tab {
	t.Helper()
	p := open(t, 1360, 1000)
	p.do(chromedp.Navigate(f.URL))
	p.until(rowsShown + " > 50")
	return p
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the condition was false for %v", patience)
		}
	}
}

// nextPoll makes the page poll at once, and waits until it shows the response.
func (p *tab) nextPoll(f *fake) {
	p.t.Helper()
	before := f.calls("/v1/heat")
	p.do(script("document.dispatchEvent(new Event('visibilitychange'))"))
	waitFor(p.t, func() bool { return f.calls("/v1/heat") > before })
	p.do(chromedp.Sleep(settle))
}

// TestViralRow checks the tip and the page of a cooled key, and that its page shows the next shard-count change.
func TestViralRow(t *testing.T) {
	t.Parallel()
	f := serve(t)
	p := openMap(t, f)
	first := value[string](p, "document.querySelector('#rows tr.row').innerText")
	if !strings.Contains(first, "C#checkout") || !strings.Contains(first, "hot") || !strings.Contains(first, "1 → 2") {
		t.Errorf("the first row is %q, want the hot counter", first)
	}
	x, y := p.rowAt("C#video/7")
	tip := value[string](p, theTip+".innerText")
	for _, want := range []string{"cooled · 1 → 64 write shards", "Maximum", "on one partition key", "% of its limit", "Mean", "UTC"} {
		if !strings.Contains(tip, want) {
			t.Errorf("the tip lacks %q: %s", want, tip)
		}
	}
	p.do(chromedp.MouseClickXY(x, y))
	p.until("location.hash.startsWith('#/key?type=counter')")
	p.until("document.querySelector('[data-stat=\"Write shards\"]')?.textContent == '1 → 64'")
	p.shows("its writes were throttled: 16 to 64")
	p.shows("2% of the partition limit. No action needed.")
	p.shows("Since 17:23:50, when the shard count changed. 64 write shards took")
	if names := value[[]string](p, "[...document.querySelectorAll('.spread tbody .key')].map((name) => name.textContent)"); len(names) != 64 || names[2] != "#2" || names[10] != "#10" {
		t.Errorf("the write shards are %q", names)
	}
	if pinned := value[string](p, "document.getElementById('pin').value"); pinned != "" || value[bool](p, "!!document.getElementById('set-command')") {
		t.Errorf("the page proposes %q write shards for a cooled key, want nothing", pinned)
	}
	f.with(func() { f.setN("video/7", 1, 4, 16, 64, 128) })
	p.until("document.querySelector('[data-stat=\"Write shards\"]')?.textContent == '1 → 128'")
	p.do(chromedp.SendKeys(chromedp.CSS("#pin"), "200"))
	if command := value[string](p, "document.getElementById('set-command').textContent"); command != "bin/hotshard shards set --target http://127.0.0.1:8080 --type counter --name=video/7 --shards 200" {
		t.Errorf("the command is %q", command)
	}
	p.do(chromedp.EmulateViewport(700, 900))
	p.labelsAreApart()
	p.do(chromedp.Navigate(f.URL + "/#/key?type=counter&name=checkout"))
	p.until("document.getElementById('pin')?.value == '8'") // the advice's shard count
	p.healthy()
}

// labelsAreApart checks on a narrow screen that the labels of shard-count changes are below the name of the axis.
func (p *tab) labelsAreApart() {
	p.t.Helper()
	p.do(chromedp.Sleep(2 * settle))
	rows := value[[][]int](p, `(() => {
		const canvas = document.querySelector('.chart canvas');
		const { data, width } = canvas.getContext('2d').getImageData(0, 0, canvas.width, 42);
		const rows = (ink) => [...new Set(Array.from({ length: data.length / 4 }, (_, i) => i).filter((i) => data[4 * i + 3] > 128 && data[4 * i] < 200 && ink(data[4 * i] - data[4 * i + 1])).map((i) => Math.floor(i / width)))];
		return [rows((d) => d < 5), rows((d) => d > 15)];
	})()`)
	name, changes := rows[0], rows[1]
	if len(name) < 5 || len(changes) < 5 || slices.Max(name) >= slices.Min(changes) {
		p.t.Errorf("the axis has its name in the rows %v, changes their labels in %v", name, changes)
	}
}

// TestKeyboard checks that the keyboard reaches, unfolds and opens all rows.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	f := serve(t)
	p := openMap(t, f)
	p.do(chromedp.Focus(chromedp.CSS("#rows tr.row")), chromedp.KeyEvent(kb.ArrowDown))
	active := "document.activeElement.innerText"
	if at := value[string](p, active); !strings.Contains(at, "C#video/7") {
		t.Errorf("the down arrow led to %q, want C#video/7", at)
	}
	if value[bool](p, "document.querySelector('.rowbox').hidden") {
		t.Error("the map has no frame around the row")
	}
	p.do(chromedp.KeyEvent(kb.ArrowRight))
	p.until("document.querySelectorAll('#rows tr.shard').length == 6")
	p.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown))
	if at := value[string](p, active); !strings.Contains(at, "#1") {
		t.Errorf("two down arrows in an unfolded row led to %q, want #1", at)
	}
	p.do(chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(" "))
	p.until("document.querySelectorAll('#rows tr.shard').length == 0")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until("location.hash.startsWith('#/key?')")
	p.do(chromedp.NavigateBack())
	p.until(rowsShown + " > 50")
	p.do(chromedp.Focus(chromedp.CSS("#map")), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowRight))
	if read := value[string](p, "document.querySelector('#map [aria-live]').textContent"); !strings.Contains(read, "WCU/s") || !strings.Contains(read, "C#page/00") {
		t.Errorf("screen readers read %q, want the key and its rate", read)
	}
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until(theTip + ".hidden")
	p.do(chromedp.KeyEvent("+"))
	p.until("location.hash.includes('zoom=')")
	p.do(chromedp.KeyEvent("0"))
	p.until("!location.hash.includes('zoom=')")
	p.do(chromedp.KeyEvent("?"))
	p.until("document.getElementById('help').open")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until("!document.getElementById('help').open")
	p.do(chromedp.Focus(chromedp.CSS("#map")), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(" "))
	p.until("document.querySelectorAll('#rows tr.shard').length == 2")
	p.do(chromedp.KeyEvent(kb.End), chromedp.KeyEvent(kb.Enter))
	p.until("location.hash.includes('filter=E%23sensor-39')")
	p.until(rowsShown + " == 1")
	p.healthy()
}
