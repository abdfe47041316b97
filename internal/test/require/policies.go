package require

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"
)

// PolicyStatement is a statement of a policy.
type PolicyStatement struct {
	Sid, Effect string
	Action      oneOrMore
	Resource    oneOrMore
}

// oneOrMore is a list that IAM may write as a single text.
type oneOrMore []string

// UnmarshalJSON decodes a text or a list of texts.
func (o *oneOrMore) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(o))
	}
	*o = []string{""}
	return json.Unmarshal(text, &(*o)[0])
}

var policyBlock = regexp.MustCompile("(?s)```json\n(\\{\\s*\"Version\".*?)```")

// Policies returns the statements of all policies in a page. It fails the test if there are none.
func Policies(t *testing.T, page string) (list []PolicyStatement) {
	t.Helper()
	content, err := os.ReadFile(page)
	NoError(t, err)
	for _, block := range policyBlock.FindAllSubmatch(content, -1) {
		var policy struct {
			Version   string
			Statement []PolicyStatement
		}
		if err := json.Unmarshal(block[1], &policy); err != nil || policy.Version != "2012-10-17" {
			t.Fatalf("%s: version %q, %v in\n%s", page, policy.Version, err, block[1])
		}
		list = append(list, policy.Statement...)
	}
	if len(list) == 0 {
		t.Fatalf("%s has no policy", page)
	}
	return list
}
