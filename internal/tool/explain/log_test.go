package explain

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
		twice := c.log + c.log
		logs := map[string]string{
			"twice": twice, "with a blank line": c.log + "\n" + c.log, "with CRLF and a mark": "\ufeff" + strings.ReplaceAll(twice, "\n", "\r\n"),
			"coloured": strings.NewReplacer("ERROR", "\x1b[31mERROR\x1b[0m", "\n    at", "\n\x1b[90m    at", "\n", "\x1b[0m\n").Replace(twice),
		}
		if !strings.HasPrefix(c.log, "{\n") {
			maps.Copy(logs, map[string]string{
				"kubectl": prefixed("[pod/store-7d9f8-x2x4z/app] ", twice), "journal": prefixed("2026-01-05T12:00:00+0000 host store[7]: ", twice),
				"compose with times": prefixed("store-1  | 2026-01-05T12:00:00.123456789Z ", twice), "journal as JSON": journaled("7", twice),
			})
		}
		for name, log := range logs {
			if r := readText(t, log); r.Logged != float64(2*c.want) {
				t.Errorf("%s, %s: %v throttles, want %d in\n%s", c.name, name, r.Logged, 2*c.want, log)
			}
		}
		if r := readText(t, c.log); r.Logged != float64(c.want) {
			t.Errorf("%s: %v throttles, want %d in\n%s", c.name, r.Logged, c.want, c.log)
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
	c := &collection{Sources: Sources{Logs: []Log{{"app.log", strings.NewReader(log)}}}, options: Options{Tables: []string{"orders"}}}
	c.Resources = []Resource{{ID: ID{Table: "orders"}, PartitionKey: "customer"}, {ID: ID{Table: "orders", Index: "by_city"}, PartitionKey: "city"}}
	c.From = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	c.To = c.From.Add(24 * time.Hour)
	require.NoError(t, c.readLogs())
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

// journaled returns the log of a process as journalctl prints it in JSON.
func journaled(pid, log string) string {
	var text strings.Builder
	for line := range strings.Lines(log) {
		fmt.Fprintf(&text, `{"__REALTIME_TIMESTAMP":"1767614400000000","_PID":%q,"MESSAGE":%q}`+"\n", pid, strings.TrimSuffix(line, "\n"))
	}
	return text.String()
}

// TestJournalOfTwoProcesses checks that lines of two processes alternate in a journal in JSON, and that its times count.
func TestJournalOfTwoProcesses(t *testing.T) {
	var log strings.Builder
	for line := range strings.Lines(pyTrace + boto) {
		log.WriteString(journaled("7", line) + journaled("8", line))
	}
	for text, want := range map[string]float64{log.String(): 2, strings.ReplaceAll(log.String(), "1767614", "1767514"): 0} {
		if r := readText(t, text); r.Logged != want {
			t.Errorf("%v throttles, want %v in\n%s", r.Logged, want, text)
		}
	}
}

// cri returns a log as Kubernetes keeps it, with a time for each line.
func cri(log string) string { return prefixed("2026-01-05T12:00:00.123456789Z stderr F ", log) }

// TestStrangersLogs checks the logs in events/strangers. The first lines of a file, which begin with #, are what must be
// found in the rest: the throttles, then those of other tables, those by reason (or operation) and resource, and by key.
func TestStrangersLogs(t *testing.T) {
	files, err := filepath.Glob("../../../events/strangers/*.log")
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs, %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		want, log := []string{}, string(text)
		for strings.HasPrefix(log, "# ") {
			var line string
			line, log, _ = strings.Cut(log, "\n")
			want = append(want, line[2:])
		}
		slices.Sort(want)
		if got := found(readText(t, log)); !slices.Equal(got, want) {
			t.Errorf("%s: found\n%q, want\n%q", filepath.Base(file), got, want)
		}
	}
}

// found returns what was found in a log, in the form of the files of events/strangers.
func found(c *collection) []string {
	list := []string{fmt.Sprint("throttles ", c.Logged)}
	for _, n := range c.Counts {
		of, resource := n.String(), n.Table
		if n.Cause == "" {
			of = string(n.Operation)
		}
		if n.Index != "" {
			resource += "/" + n.Index
		}
		list = append(list, fmt.Sprint(of, " ", resource, " ", n.Events))
	}
	for _, k := range c.Keys {
		list = append(list, fmt.Sprint("key ", k.Key, " ", k.Throttles))
	}
	for _, note := range c.notes {
		if n, _, ok := strings.Cut(strings.TrimPrefix(note, "app.log: "), " throttle"); ok && strings.Contains(note, "of other tables") {
			list = append(list, "other "+n)
		}
	}
	slices.Sort(list)
	return list
}

// TestNextSteps checks that a report without a cure for all throttles says what to do: how to log reasons in each SDK, and
// with which command to pass the log.
func TestNextSteps(t *testing.T) {
	for what, c := range map[string]struct {
		report Report
		want   string
	}{
		"all known": {Report{Throttles: 3}, ""},
		"none":      {Report{Counted: true}, "pass its log: hotshard explain --table orders --log FILE"},
		"unknown":   {Report{Throttles: 3, Unknown: 0.5}, "pass the log: hotshard explain --table orders --log FILE"},
	} {
		collected := &collection{firstTable: "orders"}
		got := collected.next(&c.report)
		if c.want == "" && got != nil || c.want != "" && (len(got) == 0 || !strings.HasSuffix(got[0], c.want)) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
		for _, sdk := range []string{"Python", "JavaScript", "Java ", "Go", ".NET", "Ruby", "PHP", "Rust"} {
			if has := slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, sdk) }); has != (c.report.Unknown > 0) {
				t.Errorf("%s: says how to log reasons in %s: %t", what, sdk, has)
			}
		}
	}
	if got := (&collection{options: Options{Deployment: true}}).next(&Report{})[0]; !strings.HasSuffix(got, "hotshard explain --stack --log FILE") {
		t.Errorf("of a deployment: %s", got)
	}
}

// TestRateOfALog checks that throttles with times have a rate, in the seconds that had throttles.
func TestRateOfALog(t *testing.T) {
	line := func(second int) string {
		return fmt.Sprintf("2026-01-05T12:00:%02dZ ERROR An error occurred (ProvisionedThroughputExceededException) when calling the PutItem operation: %s\n", second, tableText)
	}
	c := readText(t, line(1)+line(1)+line(1)+line(9)+line(9))
	if len(c.Counts) != 1 || c.Counts[0].Events != 5 || c.Counts[0].Rate != 2.5 {
		t.Errorf("counts %+v, want 5 throttles at 2.5 a second", c.Counts)
	}
	if !c.Counts[0].Guessed {
		t.Errorf("a reason by its text isn't marked: %+v", c.Counts)
	}
	if c = readText(t, "DynamoDB PutItem: ProvisionedThroughputExceededException\n"); len(c.Counts) != 1 || c.Counts[0].Rate != 0 {
		t.Errorf("counts %+v, want one without a rate", c.Counts)
	}
}
