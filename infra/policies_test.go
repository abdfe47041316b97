package infra

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// policies returns the example policies of docs/deploy.md: each statement's actions and resources, by its Sid.
func policies(t *testing.T) map[string][]string {
	t.Helper()
	content, err := os.ReadFile("../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string][]string{}
	for _, block := range regexp.MustCompile("(?s)```json\n(\\{\"Version.*?)```").FindAllStringSubmatch(string(content), -1) {
		var policy object
		if err := json.Unmarshal([]byte(block[1]), &policy); err != nil || policy.text("Version") != "2012-10-17" {
			t.Fatalf("%v of %s", err, block[1])
		}
		for _, statement := range policy.objects("Statement") {
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

// TestExamplePolicies checks that callers and operators have exactly their own routes.
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
	if len(got) != 7 { // the others are for the command line, and tested with the grants
		t.Errorf("policies %q", sorted(got))
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
