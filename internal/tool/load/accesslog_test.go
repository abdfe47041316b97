package load_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/load"
)

const realLog = "../../../events/access.log.gz"

func collect(t *testing.T, requests iter.Seq2[load.Request, error]) []load.Request {
	t.Helper()
	var list []load.Request
	for request, err := range requests {
		require.NoError(t, err)
		list = append(list, request)
	}
	return list
}

func lastError(requests iter.Seq2[load.Request, error]) error {
	var last error
	for _, err := range requests {
		last = err
	}
	return last
}

// TestRealLog compares figures of the log with those from awk, sort and uniq.
func TestRealLog(t *testing.T) {
	source, err := load.LogSource(realLog, 0)
	require.NoError(t, err)
	paths, clients, ids := map[string]int{}, map[string]int{}, map[string]bool{}
	first := collect(t, source.Requests())
	for _, r := range first {
		paths[r.Counter()]++
		clients[r.Entity()]++
		ids[r.ID] = true
	}
	got := []int{source.Total, len(first), len(ids), paths["/favicon.ico"], clients["66.249.73.135"], len(paths), len(clients)}
	if want := []int{10_000, 10_000, 10_000, 807, 482, 1498, 1753}; !slices.Equal(got, want) {
		t.Errorf("figures = %v, want %v", got, want)
	}
	if !slices.Equal(first, collect(t, source.Requests())) {
		t.Error("the second reading differs from the first")
	}
}

func TestLogStopsAtCount(t *testing.T) {
	source, err := load.LogSource(realLog, 7)
	require.NoError(t, err)
	if n := len(collect(t, source.Requests())); n != 7 || source.Total != 7 {
		t.Errorf("%d requests of a total of %d, want 7", n, source.Total)
	}
}

const goodLine = `10.0.0.1 - - [17/May/2015:10:05:03 +0200] "GET /a b?c=1 HTTP/1.1" 200 12 "-" "agent"`

func TestReadPlainAndGzip(t *testing.T) {
	text := goodLine + "\n\n" + goodLine
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	fmt.Fprint(zip, text)
	zip.Close()

	plain := collect(t, load.ReadLog("plain", strings.NewReader(text)))
	if len(plain) != 2 || plain[0].ID == plain[1].ID {
		t.Fatalf("requests %v, want two with different IDs", plain)
	}
	if diff := cmp.Diff(plain, collect(t, load.ReadLog("zipped", &zipped))); diff != "" {
		t.Errorf("requests by gzip (-plain +gzip):\n%s", diff)
	}
	if list := collect(t, load.ReadLog("empty", strings.NewReader(""))); list != nil {
		t.Errorf("requests of an empty log: %v", list)
	}
}

func TestReadErrorsNameTheLine(t *testing.T) {
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	fmt.Fprint(zip, strings.Repeat(goodLine+"\n", 100)+goodLine[:20])
	zip.Close()
	cut := zipped.String()[:zipped.Len()-9]

	for name, c := range map[string]struct{ text, want string }{
		"bad second line": {goodLine + "\nnonsense\n" + goodLine, "log:2: time: "},
		"too long":        {goodLine + "\n" + strings.Repeat("x", load.MaxLogLine+1), "log:2: the line is longer than 65536 bytes"},
		"cut gzip":        {cut, "log:101: reading: unexpected EOF"},
		"not gzip":        {"\x1f\x8bnonsense", "log: reading as gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			err := lastError(load.ReadLog("log", strings.NewReader(c.text)))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}

// TestLogReportsErrorsFirst checks that Log returns the errors of a log, before any request is sent.
func TestLogReportsErrorsFirst(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "absent"):              "no such file",
		write("empty", "\n"):                      "has no requests",
		write("bad", goodLine+"\n"+goodLine[:60]): "bad:2: ",
	} {
		if _, err := load.LogSource(path, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Log(%s) = %v, want %q", path, err, want)
		}
	}
}
