package console

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the pictures of docs/pictures anew")

// TestScreenshots makes the pictures that the docs show, with -update, and otherwise looks
// that they are there and small.
func TestScreenshots(t *testing.T) {
	folder := filepath.Join("..", "..", "docs", "pictures")
	pictures := []struct {
		name          string
		width, height int64
		theme, at     string
		ready         string
	}{
		{"console-light.png", 1360, 940, "light", "/", "document.querySelectorAll('#rows a').length > 50"},
		{"console-dark.png", 1360, 940, "dark", "/", "document.querySelectorAll('#rows a').length > 50"},
		{"console-400.png", 400, 1000, "light", "/", "document.querySelectorAll('#rows a').length > 50"},
		{"key.png", 1200, 900, "light", "/#/key?type=counter&name=video%2F7", "document.querySelector('[data-stat=N]')?.textContent == '4'"},
		{"report.png", 1200, 1000, "light", "report", "document.documentElement.dataset.ready == 'yes'"},
	}
	if *update {
		f := serve(t)
		report := reportFile(t, sampleReport())
		for _, shot := range pictures {
			p := open(t, shot.width, shot.height)
			url := f.URL + shot.at
			if shot.at == "report" {
				url = "file://" + report
			}
			var png []byte
			p.do(prefers(shot.theme), chromedp.Navigate(url))
			p.until(shot.ready)
			p.do(chromedp.Sleep(settle), chromedp.CaptureScreenshot(&png))
			if err := os.WriteFile(filepath.Join(folder, shot.name), png, 0o644); err != nil {
				t.Fatal(err)
			}
			p.healthy()
		}
	}
	for _, shot := range pictures {
		info, err := os.Stat(filepath.Join(folder, shot.name))
		if err != nil {
			t.Errorf("%v: make it by go test ./internal/console -run TestScreenshots -update", err)
			continue
		}
		if info.Size() > 200<<10 {
			t.Errorf("%s has %d bytes: too many for a picture in a repository", shot.name, info.Size())
		}
	}
}
