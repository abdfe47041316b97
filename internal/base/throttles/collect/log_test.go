package collect

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestLogEvents counts throttles in logs as runtimes and loggers print them: one for each event, however often the event
// names the exception.
func TestLogEvents(t *testing.T) {
	for _, c := range logCases {
		for name, log := range map[string]string{c.name: c.log, c.name + ", twice": c.log + c.log, c.name + ", twice, with a blank line": c.log + "\n" + c.log} {
			want := c.want
			if name != c.name {
				want *= 2
			}
			r := readText(t, log)
			if r.Logged != float64(want) {
				t.Errorf("%s: %v throttles, want %d in\n%s", name, r.Logged, want, log)
			}
		}
	}
}

// TestLogEventsBetweenOthers counts throttles of different runtimes in one log, with other lines between them.
func TestLogEventsBetweenOthers(t *testing.T) {
	var log strings.Builder
	want := 0
	for _, c := range logCases {
		log.WriteString("2026-01-05T12:00:00Z INFO started\n" + c.log + "2026-01-05T12:00:01Z INFO done\n")
		want += c.want
	}
	if r := readText(t, log.String()); r.Logged != float64(want) {
		t.Errorf("%v throttles, want %d", r.Logged, want)
	}
}

// TestReasonsOfOneEvent checks that a reason counts once for an event that repeats it, and in each of two events.
func TestReasonsOfOneEvent(t *testing.T) {
	const reasons = "ThrottlingReasons: [{reason: 'TableWriteKeyRangeThroughputExceeded', resource: 'arn:aws:dynamodb:eu-west-1:1:table/orders'}]"
	event := "Error: write failed\n    at put (/app/a.js:1:2) {\n  " + reasons + ",\n  [cause]: ThrottlingException: Throughput exceeds the current capacity of your table\n      at x (/app/b.js:3:4) {\n    " + reasons + "\n  }\n}\n"
	for n := 1; n <= 2; n++ {
		c := readText(t, strings.Repeat(event, n))
		if len(c.Counts) != 1 || c.Counts[0].Events != float64(n) || c.Logged != float64(n) {
			t.Errorf("%d events: %v throttles, counts %+v", n, c.Logged, c.Counts)
		}
	}
}

func readText(t *testing.T, log string) *collection {
	t.Helper()
	c := &collection{Sources: Sources{Log: strings.NewReader(log), LogName: "app.log"}, options: Options{Tables: []string{"orders"}}}
	c.From = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	c.To = c.From.Add(24 * time.Hour)
	require.NoError(t, c.readLog())
	return c
}

// lines returns n lines by a pattern with a number for its %.
func lines(n int, pattern string) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(strings.Replace(pattern, "%", strconv.Itoa(i), 1))
	}
	return text.String()
}

// prefixed returns a log with the same text before each line.
func prefixed(prefix, log string) string {
	var text strings.Builder
	for line := range strings.Lines(log) {
		text.WriteString(prefix + line)
	}
	return text.String()
}

// cri returns a log as Kubernetes keeps it, with a time for each line.
func cri(log string) string { return prefixed("2026-01-05T12:00:00.123456789Z stderr F ", log) }
