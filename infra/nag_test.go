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

// explanation is the reason why findings of a rule stay.
type explanation struct {
	rule  string
	about []string // the resources
	why   string
}

var explained = []explanation{
	{"AwsSolutions-S1", []string{"Failures/"}, "the bucket has what functions gave up, which few ever read; a log of its readers would be another bucket to keep"},
	{
		"AwsSolutions-IAM5", []string{"HotkeysRole/", "AggregatorRole/", "QueryRole/"},
		"PutMetricData, GetMetricData and DescribeLimits have no resources, ListStreams asks for a table's streams, a bucket's objects have no names yet: TestNoWildcards knows each",
	},
	{"Serverless-LambdaStarPermissions", []string{"HotkeysRole/", "QueryRole/"}, "the same"},
	{"Serverless-LambdaTracing", []string{"Ingest/", "Query/", "Hotkeys/", "Aggregator/"}, "a trace would have the function's own time, which is a metric anyway; the setting is tracing"},
	{
		"Serverless-LambdaDLQ", []string{"Ingest/", "Query/", "Hotkeys/", "Aggregator/"},
		"a dead letter queue is for asynchronous calls: the API's are not, records of a stream go to the bucket, and a schedule's task comes again",
	},
	{"Serverless-LambdaAsyncFailureDestination", []string{"HotkeysLive/", "AggregatorLive/"}, "a schedule's task comes again"},
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
		defer func() { _ = recover() }() // it panics after it has reported the findings
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

// TestNag checks that each finding has an explanation, and each explanation a finding.
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
		t.Errorf("not found any more: %q", sorted(stale))
	}
}

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
