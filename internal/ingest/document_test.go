package ingest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/httpapi/docs"
)

// TestTheDocumentSaysWhatIsTrue checks the bodies, lists, headers and errors of each call in the OpenAPI document.
func TestTheDocumentSaysWhatIsTrue(t *testing.T) {
	r := newRig(t)
	r.handler = docs.With(r.handler, Routes(nil))
	got := r.send(http.MethodGet, "/openapi.json", "")
	var document struct {
		Paths map[string]map[string]struct {
			Parameters  []struct{ Name, In string }
			RequestBody *struct {
				Content map[string]json.RawMessage
			} `json:"requestBody"`
			Responses map[string]struct {
				Headers map[string]json.RawMessage
			}
		}
	}
	got.decode(t, &document)
	if strings.Contains(string(got.body), "octet-stream") || strings.Contains(string(got.body), `"array","null"`) {
		t.Error("the document has a body of bytes, or a list that may be null")
	}
	writes := 0
	for path, methods := range document.Paths {
		for method, op := range methods {
			for _, status := range []string{"405", "422", "429", "503"} {
				if _, ok := op.Responses[status]; !ok {
					t.Errorf("%s %s lacks a %s", method, path, status)
				}
			}
			for _, status := range []string{"429", "503"} {
				if op.Responses[status].Headers["Retry-After"] == nil {
					t.Errorf("%s %s: %s lacks Retry-After", method, path, status)
				}
			}
			if op.RequestBody != nil {
				if _, ok := op.Responses["415"]; !ok || len(op.RequestBody.Content) != 1 {
					t.Errorf("%s %s: no 415, or %d kinds of body", method, path, len(op.RequestBody.Content))
				}
			}
			if method == "get" {
				continue
			}
			writes++
			keyed := false
			for _, p := range op.Parameters {
				keyed = keyed || p.In == "header" && p.Name == keyName
			}
			if !keyed {
				t.Errorf("%s %s takes no %s", method, path, keyName)
			}
		}
	}
	if writes != 8 {
		t.Errorf("the document has %d writes, want 8", writes)
	}
}
