package infra

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// explanation is the reason why a rule's findings are accepted.
type explanation struct {
	rule  string
	about []string // the resources
	why   string
}

var explained = []explanation{
	{"AwsSolutions-S1", []string{"Failures/"}, "the bucket has discarded records, which few read; a log of its readers would need another bucket"},
	{
		"AwsSolutions-IAM5", []string{"HotkeysRole/", "AggregatorRole/"},
		"PutMetricData, GetMetricData and DescribeLimits have no resources, ListStreams is for a table's streams, and a bucket's objects have no names yet: TestNoWildcards lists each",
	},
	{"Serverless-LambdaStarPermissions", []string{"HotkeysRole/"}, "the same"},
	{"Serverless-LambdaTracing", []string{"Ingest/", "Query/", "Hotkeys/", "Aggregator/"}, "a trace would have the function's duration, which is a metric already"},
	{
		"Serverless-LambdaDLQ", []string{"Ingest/", "Query/", "Hotkeys/", "Aggregator/"},
		"a dead letter queue is for asynchronous calls: the API's are synchronous, discarded records go to the bucket, and a schedule runs its task again",
	},
	{"Serverless-LambdaAsyncFailureDestination", []string{"HotkeysLive/", "AggregatorLive/"}, "a schedule runs its task again"},
}

// finding is a line of cdk-nag's report.
type finding struct{ RuleID, ResourceID, Compliance, RuleLevel, RuleInfo string }

// nag returns the findings of two of cdk-nag's packs.
func nag(t *testing.T) (list []finding) {
	t.Helper()
	app, out := newApp(t, nil)
	formats := []cdknag.NagReportFormat{cdknag.NagReportFormat_JSON}
	props := &cdknag.NagPackProps{Verbose: jsii.Bool(true), Reports: jsii.Bool(true), ReportFormats: &formats}
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(props), nil)
	awscdk.Aspects_Of(app).Add(cdknag.NewServerlessChecks(props), nil)
	func() {
		defer func() { _ = recover() }() // Synth panics after the findings are reported
		app.Synth(nil)
	}()
	reports, err := filepath.Glob(filepath.Join(out, "*NagReport.json"))
	if err != nil || len(reports) != 2 {
		t.Fatalf("reports %q, %v", reports, err)
	}
	for _, file := range reports {
		content, err := os.ReadFile(file)
		var report struct{ Lines []finding }
		if err == nil {
			err = json.Unmarshal(content, &report)
		}
		if err != nil || len(report.Lines) < 20 {
			t.Fatalf("%s: %d lines, %v", file, len(report.Lines), err)
		}
		list = append(list, report.Lines...)
	}
	return slices.DeleteFunc(list, func(f finding) bool { return f.Compliance == "Compliant" })
}

// TestNag checks that each finding of cdk-nag has an explanation, and each explanation a finding.
func TestNag(t *testing.T) {
	stale := map[string]bool{}
	for _, e := range explained {
		for _, about := range e.about {
			stale[e.rule+" "+about] = true
		}
	}
	for _, f := range nag(t) {
		if about, ok := explain(f); ok {
			delete(stale, f.RuleID+" "+about)
		} else {
			t.Errorf("%s %s of %s: %s", f.Compliance, f.RuleID, f.ResourceID, f.RuleInfo)
		}
	}
	if len(stale) > 0 {
		t.Errorf("explanations without a finding: %q", sorted(stale))
	}
}

// explain returns the resource in a finding's explanation, and false if it has none.
func explain(f finding) (about string, ok bool) {
	for _, e := range explained {
		for _, about := range e.about {
			if f.RuleID == e.rule && strings.HasPrefix(f.ResourceID, "hotshard/"+about) {
				return about, true
			}
		}
	}
	return "", false
}
