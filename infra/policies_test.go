package infra

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/infra/calls"
)

// policies are the examples of docs/deploy.md: what each statement allows, as action and resource,
// by its Sid.
func policies(t *testing.T) map[string][]string {
	t.Helper()
	content, err := os.ReadFile("../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string][]string{}
	for _, block := range regexp.MustCompile("(?s)```json\n(\\{\"Version.*?)```").FindAllStringSubmatch(string(content), -1) {
		var policy struct{ Version, Statement any }
		if err := json.Unmarshal([]byte(block[1]), &policy); err != nil || policy.Version != "2012-10-17" {
			t.Fatalf("%v of %s", err, block[1])
		}
		for _, s := range policy.Statement.([]any) {
			statement := object(s.(map[string]any))
			for _, action := range oneOrMore(statement["Action"]) {
				for _, resource := range oneOrMore(statement["Resource"]) {
					allowed[statement.text("Sid")] = append(allowed[statement.text("Sid")], action.(string)+" "+resource.(string))
				}
			}
			if statement.text("Effect") != "Allow" {
				t.Errorf("%v", statement)
			}
		}
	}
	return allowed
}

// TestExamplePolicies: callers' and operators' have all routes of theirs, and no other.
func TestExamplePolicies(t *testing.T) {
	const api = "execute-api:Invoke arn:aws:execute-api:eu-west-1:123456789012:abcde12345/$default/"
	want := map[string][]string{}
	for _, r := range deployed(t).of(t, "AWS::ApiGatewayV2::Route") {
		sid, key := "Data", r.Properties.text("RouteKey")
		if slices.Contains(operators, key) {
			sid = "Operate"
		}
		method, path, _ := strings.Cut(key, " ")
		want[sid] = append(want[sid], api+method+regexp.MustCompile(`\{\w+\+\}`).ReplaceAllString(path, "*"))
	}
	got := policies(t)
	for _, sid := range []string{"Data", "Operate"} {
		same(t, sid, got[sid], want[sid])
	}
}

// commands are those of the command line that work on tables.
var commands = []string{"AuditCmd.Run", "RebuildCmd.Run", "ReplayCmd.Run", "DeleteCmd.Run", "ShardsCheckCmd.Run"}

// TestPolicyOfTheCommandLine: it has what the commands' code can ask of tables, and no more.
func TestPolicyOfTheCommandLine(t *testing.T) {
	const folder = "cmd/hotshard"
	code, err := calls.Load("..", nil, folder)
	if err != nil {
		t.Fatal(err)
	}
	list, err := code.OfMethods(folder, commands...)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, c := range list {
		if c.Action == "ListTables" {
			continue // an engine that --endpoint names is asked for them, to see that it is one
		}
		if c.Service != "dynamodb" {
			t.Errorf("the commands call %v", c)
		}
		table := "arn:aws:dynamodb:eu-west-1:123456789012:table/hotshard-" + c.Table
		want = append(want, "dynamodb:"+c.Action+" "+strings.TrimSuffix(table+"/index/"+c.Index, "/index/"))
	}
	for _, sid := range []string{"Items", "Indexes", "Summaries", "ShardCounts"} {
		got = append(got, policies(t)[sid]...)
	}
	same(t, "tables", got, want)
	if _, err := code.OfMethods(folder, "AuditCmd.Nothing"); err == nil || err.Error() != "cmd/hotshard has no method AuditCmd.Nothing" {
		t.Error(err)
	}
	if all := policies(t); len(all) != 6 {
		t.Errorf("policies %q", sorted(all))
	}
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("the policy for %s has\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
