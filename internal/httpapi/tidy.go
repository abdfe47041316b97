package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Bounds of what an error repeats of a caller's text, in bytes.
const (
	maxEcho  = 100
	maxPlace = 200
)

func cut(text string) string { return cutTo(text, maxEcho) }

func cutTo(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// trimProblem tidies the framework's errors.
func trimProblem(_ huma.Context, _ string, answer any) (any, error) {
	if problem, ok := answer.(*huma.ErrorModel); ok {
		tidy(problem)
	}
	return answer, nil
}

// tidy puts the places and messages of errors right, gives each its value, and keeps
// them from repeating whole bodies.
func tidy(problem *huma.ErrorModel) {
	if problem.Status == http.StatusUnsupportedMediaType {
		problem.Detail, problem.Errors = "the body must be sent with Content-Type: application/json", nil
	}
	for _, e := range problem.Errors {
		if !splitPlace(e) {
			e.Value = echoed(valueAt(e))
		}
		e.Location = cutTo(strings.Replace(e.Location, ",explode", "", 1), maxPlace) // the framework's tag
		if strings.HasPrefix(e.Message, "invalid date/time for format ") {
			e.Message = "it must be a time as RFC 3339 has it, such as 2026-01-05T12:00:00Z"
		}
	}
}

// valueAt is the value at an error's place. Of a member that is not expected, the
// framework gives the whole object.
func valueAt(e *huma.ErrorDetail) any {
	members, _ := e.Value.(map[string]any)
	longest := ""
	for name := range members {
		if strings.HasSuffix(e.Location, "."+name) && len(name) > len(longest) {
			longest = name
		}
	}
	if longest != "" {
		return members[longest]
	}
	return e.Value
}

// echoed is a value as JSON, or the begin of that as text where it is long. What has no
// value is null.
func echoed(value any) any {
	if text, ok := value.(string); ok {
		return cut(text)
	}
	var text bytes.Buffer
	if err := huma.DefaultJSONFormat.Marshal(&text, value); err != nil {
		return nil // it is of ours, and has no JSON
	}
	if plain := bytes.TrimSpace(text.Bytes()); len(plain) <= maxEcho {
		return json.RawMessage(plain)
	}
	return cut(text.String())
}
