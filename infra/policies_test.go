package infra

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// policies returns the actions with resources of the example policies in docs/deploy.md, by Sid.
func policies(t *testing.T) map[string][]string {
	t.Helper()
	allowed := map[string][]string{}
	for _, s := range require.Policies(t, "../docs/deploy.md") {
		for _, action := range s.Action {
			for _, resource := range s.Resource {
				allowed[s.Sid] = append(allowed[s.Sid], action+" "+resource)
			}
		}
		if s.Effect != "Allow" {
			t.Errorf("statement %+v, want Allow", s)
		}
	}
	return allowed
}

// TestExamplePolicies checks that the policies of callers and of operators have exactly their routes.
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
		slices.Sort(got[sid])
		slices.Sort(want[sid])
		if len(want[sid]) == 0 || !slices.Equal(got[sid], want[sid]) {
			t.Errorf("the policy %s has\n%s\nwant\n%s", sid, strings.Join(got[sid], "\n"), strings.Join(want[sid], "\n"))
		}
	}
	if len(got) != 7 { // the others are the command line's, which grants.TestGrantsAreEnough checks
		t.Errorf("statements %q, want 7", sorted(got))
	}
}
