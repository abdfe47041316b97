package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/explain"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestUnknownKeys checks that the cure for unknown keys is the command that lists them, by the table's name or its ARN.
func TestUnknownKeys(t *testing.T) {
	s := stormOf(t, explain.Reason{ID: explain.ID{Table: orders}, Operation: explain.Write, Cause: explain.KeyRange})
	for _, name := range []string{orders, arn} {
		o := s.options()
		o.Tables = []string{name}
		r, err := explain.Run(t.Context(), explain.Sources{CloudWatch: s.client(t), DynamoDB: s.reader}, o) // CloudWatch knows the name
		if f := r.Findings; err != nil || len(f) != 1 || len(f[0].Keys) != 0 || f[0].Resource != arn || !strings.Contains(f[0].Cure, "update-contributor-insights --table-name "+name+" --contributor-insights-action ENABLE") {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// TestQuietTable checks the texts for a table without throttles, and for one without evidence.
func TestQuietTable(t *testing.T) {
	s := newStorm(t, capacity{o: throttle.Options{Partitions: 64, PartitionWCU: 1000}})
	s.put(t, hot, "1", "Rome")
	for want, sources := range map[string]explain.Sources{
		"orders was not throttled from":       {CloudWatch: s.client(t), Logs: logOf("all is well\n")},
		"Whether orders was throttled from":   {},
		"nothing that was read counts thrott": {Logs: logOf("all is well\n")},
	} {
		r, _ := s.explain(t, sources)
		if out := r.Text(); !strings.Contains(out, want) || len(r.Findings) != 0 {
			t.Errorf("text %s; want %q", out, want)
		}
		if known := sources.CloudWatch != nil; known != (r.Unknown == 0) {
			t.Errorf("%s: the unknown share is %v", want, r.Unknown)
		}
	}
}

// TestNewestThrottlesAreUnknown checks that a table isn't called quiet for the minutes that CloudWatch hasn't counted yet.
func TestNewestThrottlesAreUnknown(t *testing.T) {
	s := newStorm(t, capacity{o: throttle.Options{Partitions: 64, PartitionWCU: 1000}})
	for since, want := range map[time.Duration]string{
		10 * time.Minute: "orders was not throttled from " + clock(s.now.Add(-10*time.Minute)) + " to " + clock(s.now.Add(-3*time.Minute)) + " UTC",
		2 * time.Minute:  "Whether orders was throttled from " + clock(s.now.Add(-2*time.Minute)) + " to " + clock(s.now) + " UTC is unknown",
	} {
		o := s.options()
		o.From, o.To = s.now.Add(-since), s.now
		r, err := explain.Run(t.Context(), explain.Sources{DynamoDB: s.reader, CloudWatch: s.client(t)}, o)
		require.NoError(t, err)
		if out := r.Text(); !strings.Contains(out, want) || !strings.Contains(out, "up to 3 minutes late") {
			t.Errorf("%v: %s; want %q", since, out, want)
		}
	}
}

func clock(at time.Time) string { return at.UTC().Format(time.TimeOnly) }

// TestOnlyDocumentedCalls checks that the policy of docs/explain.md allows exactly the calls that are made. A missing
// permission must result in one note, and in the same finding.
func TestOnlyDocumentedCalls(t *testing.T) {
	var allowed []string
	for _, s := range require.Policies(t, "../../../docs/explain.md") {
		allowed = append(allowed, s.Action...)
	}
	label := explain.Reason{ID: explain.ID{Table: orders}, Operation: explain.Write, Cause: explain.KeyRange}
	s := stormOf(t, label)
	_, notes := s.explain(t, explain.Sources{CloudWatch: s.client(t)})
	if len(notes) != 0 {
		t.Errorf("notes %q, want none", notes)
	}
	// The tests of package live check these calls.
	made := append(s.made(), "dynamodb:DescribeStream", "dynamodb:GetShardIterator", "dynamodb:GetRecords", "lambda:ListEventSourceMappings")
	slices.Sort(made)
	slices.Sort(allowed)
	if !slices.Equal(made, allowed) {
		t.Errorf("calls\n%q, but the policy allows\n%q", made, allowed)
	}
	for _, call := range s.made() {
		s.denied = map[string]bool{call: true}
		r, notes := s.explain(t, explain.Sources{CloudWatch: s.client(t), Logs: logOf(s.logs["boto3"].String())})
		about := slices.IndexFunc(notes, func(n string) bool { return strings.Contains(n, "allow "+call) })
		if about < 0 || len(notes) != 1 || len(r.Findings) != 1 || r.Findings[0].Reason != label.String() {
			t.Errorf("without %s: notes %q, findings %+v", call, notes, r.Findings)
		}
	}
}

// TestLogs checks log lines that are not counted, or that have no reason.
func TestLogs(t *testing.T) {
	s := newStorm(t, capacity{o: throttle.Options{Partitions: 64, PartitionWCU: 1000}})
	const reason = "TableWriteKeyRangeThroughputExceeded"
	stamp := func(d time.Duration) string { return s.now.Add(d).UTC().Format(time.RFC3339) }
	pair := func(reason, arn string) string { return fmt.Sprintf(`{"reason":%q,"resource":%q}`, reason, arn) }
	for name, c := range map[string]struct {
		log     string
		all     float64
		unknown float64
		note    string
	}{
		"no reason":       {"operation error DynamoDB: PutItem, ProvisionedThroughputExceededException: The level of configured\n", 1, 1, ""},
		"another service": {"operation error Lambda: Invoke, ThrottlingException: Rate exceeded\n", 0, 1, ""},
		"half":            {"An error occurred (ThrottlingException) when calling the PutItem operation\nx " + pair(reason, arn) + "\nAn error occurred (ThrottlingException) when calling the PutItem operation\nProvisionedThroughputExceededException in DynamoDB\n", 3, 0.6667, ""},
		"another table":   {pair(reason, arn+"2") + "\n", 0, 1, "1 throttle is of other tables"},
		"old":             {stamp(-time.Hour) + " " + pair(reason, arn) + "\n" + stamp(0) + " " + pair(reason, arn) + "\n", 1, 0, "1 throttle is outside this time"},
		"unlike resource": {pair("IndexWriteKeyRangeThroughputExceeded", arn) + "\n", 1, 1, ""},
		"two of one call": {`{"ThrottlingReasons":[` + pair(reason, arn) + "," + pair("TableWriteMaxOnDemandThroughputExceeded", arn) + "]}\n", 2, 0, ""},
		"a long line":     {strings.Repeat("x", 3<<20) + "\n" + pair(reason, arn) + "\n", 1, 0, ""},
		"no line end":     {pair(reason, arn), 1, 0, ""},
		"cut":             {`{"reason":"` + reason, 1, 0, ""},
	} {
		r, notes := s.explain(t, explain.Sources{Logs: logOf(c.log)})
		if r.Throttles != c.all || r.Unknown != c.unknown || c.note != "" && !strings.Contains(strings.Join(notes, " "), c.note) {
			t.Errorf("%s: %v throttles, unknown %v, notes %q; want %v, %v and %q", name, r.Throttles, r.Unknown, notes, c.all, c.unknown, c.note)
		}
	}
}

// TestIndexOnly checks that --index limits the report to an index, and the errors of missing indexes and tables.
func TestIndexOnly(t *testing.T) {
	label := explain.Reason{ID: explain.ID{Table: orders, Index: byCity}, Operation: explain.Write, Cause: explain.Provisioned}
	s := stormOf(t, label)
	requests["TableRead"](t, s)
	o := s.options()
	o.Index = byCity
	r, err := explain.Run(t.Context(), explain.Sources{DynamoDB: s.reader, CloudWatch: s.client(t)}, o)
	if err != nil || len(r.Findings) != 1 || r.Findings[0].Share != 1 || !strings.Contains(r.Findings[0].Cure, `--global-secondary-index-updates '[{"Update":{"IndexName":"by_city","ProvisionedThroughput":{"ReadCapacityUnits":6,"WriteCapacityUnits":`) {
		t.Errorf("findings %+v, %v; want one, to raise the index's capacity", r.Findings, err)
	}
	o.Index = "none"
	if _, err := explain.Run(t.Context(), explain.Sources{DynamoDB: s.reader}, o); err == nil || !strings.Contains(err.Error(), `Table orders has no global index "none". Check --index: by_city.`) {
		t.Errorf("of a missing index: %v", err)
	}
	o.Index, o.Tables = "", []string{"nowhere"}
	if _, err := explain.Run(t.Context(), explain.Sources{DynamoDB: s.reader}, o); err == nil {
		t.Error("no error for a missing table")
	}
}
