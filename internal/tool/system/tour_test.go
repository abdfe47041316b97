package system

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestTheTour runs the calls of docs/api-tour.md up to its errors, in bash, and compares each answer with the line below
// the call. Times may differ. The limits' windows are days, so a run in which a day ends is repeated.
func TestTheTour(t *testing.T) {
	page, err := os.ReadFile("../../../docs/api-tour.md")
	require.NoError(t, err)
	calls, _, whole := strings.Cut(string(page), "## Real requests")
	var script strings.Builder
	var want []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(calls, -1) {
		for line := range strings.Lines(block[1]) {
			if answer, ok := strings.CutPrefix(line, "# "); ok {
				want = append(want, answer)
				script.WriteString("echo; echo '@@'\n")
			} else {
				script.WriteString(line)
			}
		}
	}
	day := today()
	out, err := output(t, script.String())
	if day != today() {
		out, err = output(t, script.String())
	}
	got := strings.Split(string(out), "\n@@\n")
	if err != nil || !whole || len(got) != len(want)+1 || len(want) < 10 {
		t.Fatalf("%v; %d answers, want %d\n%s", err, len(got)-1, len(want), out)
	}
	times := regexp.MustCompile(`"[0-9]{4}-[0-9-]+T[0-9:.]+Z"`)
	for i, answer := range want {
		lines := strings.Split(strings.TrimSpace(got[i]), "\n")
		if last := lines[len(lines)-1]; times.ReplaceAllString(last, "") != times.ReplaceAllString(strings.TrimSpace(answer), "") {
			t.Errorf("the answer is\n%s, want\n%s", last, answer)
		}
	}
}

func today() string { return time.Now().UTC().Format(time.DateOnly) }

// output starts the system, and returns the output of a script that calls it.
func output(t *testing.T, script string) ([]byte, error) {
	s, stop := startWith(t, func(*Options) {})
	defer stop()
	return exec.CommandContext(t.Context(), "bash", "-euc", strings.ReplaceAll(script, "http://127.0.0.1:8080", s.URL())).Output()
}
