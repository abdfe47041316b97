package ddbstream

import (
	"strings"
	"testing"
)

// TestParseTask checks that only an object with a task alone is a task's payload.
func TestParseTask(t *testing.T) {
	for payload, want := range map[string]string{
		`{"task":"shrink"}`:         "shrink",
		" {\n \"task\" : \"\" }\n":  "",
		`{"task":"a\u0062"}`:        "ab",
		`{"task":"none of theirs"}`: "none of theirs",
	} {
		if task, ok := ParseTask([]byte(payload)); !ok || task != want {
			t.Errorf("%s: %q, %t; want %q", payload, task, ok, want)
		}
	}
	for _, payload := range []string{
		``, `{}`, `[]`, `"task"`, `{"task":null}`, `{"task":1}`, `{"task":"shrink"`, `{"task":"shrink","n":1}`,
		`{"Records":[]}`, `{"task":"` + strings.Repeat("x", maxPayload) + `"}`,
	} {
		if task, ok := ParseTask([]byte(payload)); ok {
			t.Errorf("%.40s is accepted as the task %.40q", payload, task)
		}
	}
}
