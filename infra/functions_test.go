package infra

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
)

// TestDeadlinesFitTogether checks that a function's timeout is after a request's deadline, and at most API Gateway's 30 s.
func TestDeadlinesFitTogether(t *testing.T) {
	tm := deployed(t)
	for name, deadline := range map[string]time.Duration{Ingest: ingest.Deadline, Query: query.Deadline} {
		_, p := tm.function(t, name)
		if timeout := p.number("Timeout"); timeout <= deadline.Seconds() || timeout > 30 {
			t.Errorf("%s: timeout %v s, want more than %v and up to 30", name, timeout, deadline)
		}
	}
}

// TestFunctionsGetTheirVariables checks that a function gets exactly the variables that its settings read.
func TestFunctionsGetTheirVariables(t *testing.T) {
	read := config.Variables()
	for _, name := range Functions {
		_, p := settingOf(t, name).function(t, name)
		given := slices.DeleteFunc(sorted(p.object("Environment").object("Variables")), func(v string) bool { return v == "GOMEMLIMIT" }) // Go reads it
		if !slices.Equal(given, read[name]) || len(given) < 3 {
			t.Errorf("%s gets %q, but reads %q", name, given, read[name])
		}
	}
	if got := sorted(read); !slices.Equal(got, slices.Sorted(slices.Values(Functions))) {
		t.Errorf("settings of the functions %q, want %q", got, Functions)
	}
}

// settingOf returns the template of a deployment that has this function.
func settingOf(t *testing.T, function string) *template {
	t.Helper()
	if function == Reader {
		return with(t, map[string]any{"readers": "one"})
	}
	return deployed(t)
}

// statement is an action on a resource.
type statement struct{ action, resource, condition string }

// statements returns the statements of a role.
func statements(t *testing.T, role object) (list []statement) {
	t.Helper()
	if role["ManagedPolicyArns"] != nil {
		t.Errorf("managed policies %v, want none", role["ManagedPolicyArns"])
	}
	for _, policy := range role.objects("Policies") {
		for _, o := range policy.object("PolicyDocument").objects("Statement") {
			if o.text("Effect") != "Allow" || o["NotAction"] != nil || o["NotResource"] != nil {
				t.Errorf("statement %v, want one that allows its actions on its resources", o)
			}
			for _, action := range oneOrMore(o["Action"]) {
				for _, resource := range oneOrMore(o["Resource"]) {
					list = append(list, statement{text(action), text(resource), text(o["Condition"])})
				}
			}
		}
	}
	return list
}

func oneOrMore(value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	return []any{value}
}

// unscoped has the actions that can't be restricted to a resource, with their conditions.
var unscoped = map[string]string{
	"cloudwatch:PutMetricData": `{"StringEquals":{"cloudwatch:namespace":"Hotshard"}}`,
}

// TestNoWildcards checks that roles have a wildcard only if an action has no smaller resource.
func TestNoWildcards(t *testing.T) {
	tm := deployed(t)
	for id, r := range tm.Resources {
		if r.Type == "AWS::IAM::Policy" {
			t.Errorf("%s is a policy beside the roles' own", id)
		}
	}
	for id, role := range tm.of(t, "AWS::IAM::Role") {
		for _, s := range statements(t, role.Properties) {
			condition, free := unscoped[s.action]
			switch {
			case strings.Contains(s.action, "*"):
				t.Errorf("%s: wildcard in the action %s", id, s.action)
			case free && s.resource == "*" && s.condition == condition:
			case s.action == "dynamodb:ListStreams" && (s.resource == "${"+table(t, tm, "items")+".Arn}/stream/*" || s.resource == "${"+table(t, tm, "events")+".Arn}/stream/*"): // the action is for a table's streams
			case s.action == "s3:PutObject" && strings.HasSuffix(s.resource, ".Arn}/*"): // objects of one bucket
			case strings.Contains(s.resource, "*"):
				t.Errorf("%s: wildcard in %s on %s with the condition %s", id, s.action, s.resource, s.condition)
			}
		}
	}
}

// table returns the id of a table.
func table(t *testing.T, tm *template, name string) string {
	t.Helper()
	id, _ := tm.named(t, "AWS::DynamoDB::GlobalTable", "TableName", "hotshard-"+name)
	return id
}
