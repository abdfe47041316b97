package infra

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/infra/grants"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// mapping returns the event source mapping of a table's stream to a function. The attached table's name is "".
func mapping(t *testing.T, tm *template, function, from string) object {
	t.Helper()
	for _, r := range tm.of(t, "AWS::Lambda::EventSourceMapping") {
		if r.Properties.text("FunctionName") == "${"+live(t, tm, function)+"}" && (from == "" || r.Properties.text("EventSourceArn") == "${"+table(t, tm, from)+".StreamArn}") {
			return r.Properties
		}
	}
	t.Fatalf("no mapping of %s to %s", from, function)
	return nil
}

var streamed = []string{"items", "events"}

// live returns the id of a function's alias, which all callers use.
func live(t *testing.T, tm *template, function string) string {
	t.Helper()
	id, _ := tm.function(t, function)
	alias, _ := tm.named(t, "AWS::Lambda::Alias", "FunctionName", "${"+id+"}")
	return alias
}

// behind returns the name of an alias's function.
func behind(tm *template, alias string) string {
	return strings.TrimPrefix(tm.at(tm.at(alias).text("FunctionName")).text("FunctionName"), "hotshard-")
}

// TestTwoReaders checks the mappings of both readers of each stream: they use tumbling windows, have bounded retries and send
// discarded records to the bucket.
func TestTwoReaders(t *testing.T) {
	tm := deployed(t)
	if n := len(tm.of(t, "AWS::Lambda::EventSourceMapping")); n != 4 {
		t.Errorf("%d mappings, want 4", n)
	}
	bucket, _ := tm.named(t, "AWS::S3::Bucket", "BucketName", "<nil>")
	for _, function := range []string{grants.Hotkeys, grants.Aggregator} {
		for _, from := range streamed {
			checkReader(t, mapping(t, tm, function, from), function, bucket)
		}
		if f := mapping(t, tm, grants.Hotkeys, "items")["FilterCriteria"]; f != nil {
			t.Errorf("hotkeys has the filter %v, want none", f)
		}
	}
}

func checkReader(t *testing.T, p object, function, bucket string) {
	t.Helper()
	age := map[string]float64{grants.Hotkeys: 3600, grants.Aggregator: 72000}[function] // hotkeys needs no older records; those of 24 h would expire uncounted
	for name, want := range map[string]any{
		"StartingPosition": "TRIM_HORIZON", "BatchSize": 1000.0, "MaximumBatchingWindowInSeconds": 1.0, "TumblingWindowInSeconds": 10.0,
		"ParallelizationFactor": 1.0, "BisectBatchOnFunctionError": true, "MaximumRetryAttempts": 10000.0, "MaximumRecordAgeInSeconds": age,
	} {
		if p[name] != want {
			t.Errorf("%s: %s is %v, want %v", function, name, p[name], want)
		}
	}
	if p.text("FunctionResponseTypes") != "[ReportBatchItemFailures]" || p.object("MetricsConfig").text("Metrics") != "[EventCount]" ||
		p.object("DestinationConfig").object("OnFailure").text("Destination") != "${"+bucket+".Arn}" {
		t.Errorf("%s: responses, metrics or failure destination of %v", function, p)
	}
}

// TestFilter checks which records the aggregator gets: those that it folds, but no sessions, markers, deleted events or
// summaries of counters.
func TestFilter(t *testing.T) {
	passes := map[string][]func(name, key, sk string) bool{}
	tm := deployed(t)
	for _, from := range streamed {
		passes[from] = filters(t, mapping(t, tm, grants.Aggregator, from))
	}
	for _, c := range []struct{ key, sk, from, names string }{
		{"C#page/home#1", "+", "items", "INSERT MODIFY REMOVE"}, {"C#page/home#0", "-", "", ""}, {"C#page/home#1", schema.ProbeSK, "", ""},
		{"L#game#all#p", "game", "items", "INSERT MODIFY REMOVE"}, {"B#game", "-", "items", "INSERT MODIFY REMOVE"},
		{"E#door#2026-01-05#0", "x", "events", "INSERT MODIFY"}, {"I#key", "-", "", ""}, {"S#group#0", "x", "", ""}, {"R#a#60#0#0", "-", "", ""},
	} {
		for _, from := range streamed {
			for _, name := range []string{"INSERT", "MODIFY", "REMOVE"} {
				got := slices.ContainsFunc(passes[from], func(pass func(name, key, sk string) bool) bool { return pass(name, c.key, c.sk) })
				if got != (from == c.from && strings.Contains(c.names, name)) {
					t.Errorf("%s of %s, %s in %s is delivered: %t", name, c.key, c.sk, from, got)
				}
			}
		}
	}
}

// filters returns the filters of an event source mapping.
func filters(t *testing.T, mapping object) (passes []func(name, key, sk string) bool) {
	t.Helper()
	for _, f := range mapping.object("FilterCriteria").objects("Filters") {
		var pattern struct {
			EventName []string
			DynamoDB  struct {
				Keys struct {
					PK struct{ S []struct{ Prefix string } }
					SK struct{ S []string }
				}
			}
		}
		text := f.text("Pattern")
		if err := json.Unmarshal([]byte(text), &pattern); err != nil || len(text) > 4096 {
			t.Fatalf("%s: %v", text, err)
		}
		passes = append(passes, func(name, key, sk string) bool {
			return (pattern.EventName == nil || slices.Contains(pattern.EventName, name)) &&
				(pattern.DynamoDB.Keys.SK.S == nil || slices.Contains(pattern.DynamoDB.Keys.SK.S, sk)) &&
				slices.ContainsFunc(pattern.DynamoDB.Keys.PK.S, func(p struct{ Prefix string }) bool { return strings.HasPrefix(key, p.Prefix) })
		})
	}
	return passes
}

func TestStreamSettings(t *testing.T) {
	tm := with(t, map[string]any{"window": "30s", "streamShards": 51.0})
	for _, function := range []string{grants.Hotkeys, grants.Aggregator} {
		p := mapping(t, tm, function, "events")
		if p.number("TumblingWindowInSeconds") != 60 || p.number("MaximumBatchingWindowInSeconds") != 5 {
			t.Errorf("%s: mapping %v", function, p)
		}
	}
	_, bucket := tm.named(t, "AWS::S3::Bucket", "BucketName", "<nil>")
	rule := bucket.Properties.object("LifecycleConfiguration").objects("Rules")[0]
	if rule.number("ExpirationInDays") != 30 || rule.text("Status") != "Enabled" {
		t.Errorf("lifecycle rule %v, want 30 days", rule)
	}
}

// TestFailureBucketIsPrivate checks that the bucket has no public access, and that it is encrypted and retained.
func TestFailureBucketIsPrivate(t *testing.T) {
	tm := deployed(t)
	id, bucket := tm.named(t, "AWS::S3::Bucket", "BucketName", "<nil>")
	block := bucket.Properties.object("PublicAccessBlockConfiguration")
	for _, name := range []string{"BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"} {
		if block[name] != true {
			t.Errorf("%s is %v, want true", name, block[name])
		}
	}
	if !strings.Contains(text(map[string]any(bucket.Properties.object("BucketEncryption"))), "AES256") || bucket.DeletionPolicy != retained {
		t.Errorf("bucket %v, want AES256 and %s", bucket, retained)
	}
	_, policy := tm.named(t, "AWS::S3::BucketPolicy", "Bucket", "${"+id+"}")
	if s := text(map[string]any(policy.Properties.object("PolicyDocument"))); !strings.Contains(s, `"aws:SecureTransport":"false"`) || !strings.Contains(s, `"Effect":"Deny"`) || policy.DeletionPolicy != retained {
		t.Errorf("policy %s, %s; want it to deny calls without TLS, and %s", policy.DeletionPolicy, s, retained)
	}
}

// TestSchedules checks the function, the task and the rate of each schedule. Its role may only invoke that function.
func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		context map[string]any
		want    map[string]string // by name: the function, its input and the rate
	}{
		{nil, map[string]string{
			"hotshard-shrink": `hotkeys {"task":"shrink"} rate(5 minutes)`, "hotshard-compact": `aggregator {"task":"compact"} rate(60 minutes)`,
			"hotshard-boards": `aggregator {"task":"boards"} rate(1 minute)`, "hotshard-layers": `hotkeys {"task":"layers"} rate(1 minute)`,
		}},
	} {
		tm := with(t, c.context)
		schedules := tm.of(t, "AWS::Scheduler::Schedule")
		if len(schedules) != len(c.want) {
			t.Errorf("%d schedules, want %d", len(schedules), len(c.want))
		}
		for _, r := range schedules {
			target := r.Properties.object("Target")
			function := target.text("Arn")
			if got := statements(t, tm.at(target.text("RoleArn"))); len(got) != 1 || got[0] != (statement{"lambda:InvokeFunction", function, "<nil>"}) {
				t.Errorf("the role of %s may %v", r.Properties.text("Name"), got)
			}
			got := behind(tm, function) + " " + target.text("Input") + " " + r.Properties.text("ScheduleExpression")
			if got != c.want[r.Properties.text("Name")] || target.object("RetryPolicy")["MaximumRetryAttempts"] != 0.0 {
				t.Errorf("%s: %s without retries, want %s: %v", r.Properties.text("Name"), got, c.want[r.Properties.text("Name")], target)
			}
		}
	}
}
