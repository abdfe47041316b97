package console

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

var update = flag.Bool("update", false, "make the pictures of docs/pictures from a run of bin/hotshard demo, and kinds.ts from the table of kinds")

// pictures are the docs' pictures.
var pictures = []struct {
	name          string
	width, height int64
	theme, at     string // at is a path and query after #
	ready         string
}{
	{"console-light.png", 1360, 1000, "light", "/?unfold=C%23page%2Flaunch&", "document.querySelectorAll('#rows tr.shard').length == 6"},
	{"console-dark.png", 1360, 1000, "dark", "/?unfold=C%23page%2Flaunch&", "document.querySelectorAll('#rows tr.shard').length == 6"},
	{"console-400.png", 400, 1000, "light", "/?", "document.querySelectorAll('#rows tr.row').length > 10"},
	{"key.png", 1200, 1000, "light", "/key?type=counter&name=page%2Flaunch&", "document.querySelectorAll('.spread tbody tr').length > 10"},
}

var pictureFolder = filepath.Join("..", "..", "..", "docs", "pictures")

// TestPictures checks that the docs' pictures exist and are small, and that their page has the date and the command. With
// -update it takes the pictures.
func TestPictures(t *testing.T) {
	if *update {
		makePictures(t)
	}
	for _, shot := range pictures {
		info, err := os.Stat(filepath.Join(pictureFolder, shot.name))
		if err != nil {
			t.Errorf("%v: run make pictures", err)
			continue
		}
		if info.Size() > 200<<10 {
			t.Errorf("%s has %d bytes: too many for a picture in a repository", shot.name, info.Size())
		}
	}
	text, err := os.ReadFile(filepath.Join(pictureFolder, "README.md"))
	if err != nil || !regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`).Match(text) || !bytes.Contains(text, []byte("hotshard demo")) {
		t.Errorf("docs/pictures/README.md lacks the date or the command: %v %s", err, text)
	}
}

// cooledAfter is the time from the demo's start until its counter has cooled and pictures are taken.
const cooledAfter = 100 * time.Second

// makePictures takes the console's pictures while the demo runs.
func makePictures(t *testing.T) {
	endpoint, prefix := enginetest.Endpoint(t), "hotshard-demo-" // make pictures has started this engine
	demo := exec.CommandContext(t.Context(), filepath.Join("..", "..", "..", "bin", "hotshard"),
		"demo", "--addr", "127.0.0.1:0", "--for", "2m", "--endpoint", endpoint, "--prefix", prefix)
	var out lockedBuffer
	demo.Stdout, demo.Stderr = &out, os.Stderr
	require.NoError(t, demo.Start())
	var said []string
	waitFor(t, func() bool {
		said = regexp.MustCompile(`the console is at (\S+)/#/\?from=(\S+) `).FindStringSubmatch(out.String())
		return said != nil
	})
	from, err := time.Parse(time.RFC3339, said[2])
	require.NoError(t, err)
	time.Sleep(time.Until(from.Add(cooledAfter)))
	span := fmt.Sprintf("from=%s&to=%s", from.Format(time.RFC3339), from.Add(cooledAfter).Format(time.RFC3339))
	for _, shot := range pictures {
		takePicture(t, shot.name, shot.width, shot.height, shot.theme, said[1]+"/#"+shot.at+span, shot.ready)
	}
	if err := demo.Wait(); err != nil {
		t.Fatal(err, out.String())
	}
	writeCaption(t, from, out.String())
}

func takePicture(t *testing.T, name string, width, height int64, theme, url, ready string) {
	t.Helper()
	p := openTab(t, width, height, "")
	p.do(prefers(theme), inZone("UTC"), chromedp.Navigate(url))
	p.until(ready)
	p.do(chromedp.Sleep(3 * settle))
	png := run(p, chromedp.CaptureScreenshot())
	require.NoError(t, os.WriteFile(filepath.Join(pictureFolder, name), png, 0o644))
	p.healthy()
}

// writeCaption writes the pictures' date and command, with the demo's output.
func writeCaption(t *testing.T, from time.Time, said string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(said), "\n")
	text := fmt.Sprintf("# The pictures\n\nMade on %s by `make pictures`, from one run of `hotshard demo --for 2m`. All that they show was\n"+
		"measured in that run, which ended with\n\n```console\n%s\n```\n",
		from.Format(time.DateOnly), strings.Join(lines[1:], "\n"))
	require.NoError(t, os.WriteFile(filepath.Join(pictureFolder, "README.md"), []byte(text), 0o644))
}

// lockedBuffer is written by one goroutine and read by another.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
