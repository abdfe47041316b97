//go:build storm

package console

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// StartViral runs the whole system with a viral counter. A test package outside sets it, because the system imports this
// package.
var StartViral func(*testing.T) (url, counter string)

// TestStormInConsole follows a viral counter of the whole system from the map to its page. The shard count on the page
// must grow.
func TestStormInConsole(t *testing.T) {
	url, counter := StartViral(t)
	p := openTab(t, 1360, 1000, "")
	p.do(chromedp.Navigate(url))
	key := "C#" + counter
	p.until(fmt.Sprintf("[...document.querySelectorAll('#rows tr.row')].some((row) => row.innerText.includes(%q))", key))
	p.do(chromedp.Click(chromedp.CSS("#pause"))) // the row keeps its place
	x, y := p.rowAt(key)
	p.do(chromedp.MouseClickXY(x, y))
	p.until("location.hash.startsWith('#/key?type=counter')")
	p.do(chromedp.Click(chromedp.CSS("#pause")))
	p.until("Number(document.querySelector('[data-stat=\"Write shards\"]')?.textContent.split(' ').at(-1)) > 1")
	p.until("document.querySelectorAll('.spread tbody tr').length > 1")
	t.Logf("it has %s write shards", value[string](p, "document.querySelector('[data-stat=\"Write shards\"]').textContent"))
	p.healthy()
}
