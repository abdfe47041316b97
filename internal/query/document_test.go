package query

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestDocumentOfACall checks what the document says beside the framework's description: requests are strict and responses
// are not, bodies are JSON only and refer to their schemas, calls need authorization, and errors that pass say how long to wait.
func TestDocumentOfACall(t *testing.T) {
	type part struct {
		N int `json:"n"`
	}
	type sum struct{ Sum int }
	type request struct{ Body struct{ Parts []part } }
	type response struct{ Body oneOf[sum, part] }
	text := document(httpapi.Describe(func(api *httpapi.API) {
		op := httpapi.Operation(httpapi.ForCallers, http.MethodPost, "/v1/sums", "add", "Add", "")
		op.Errors = []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}
		httpapi.Register(api, op, func(context.Context, *request) (*response, error) { return nil, nil })
	}))
	var doc huma.OpenAPI
	require.NoError(t, json.Unmarshal(text, &struct {
		Paths    *map[string]*huma.PathItem
		Security *[]map[string][]string
	}{&doc.Paths, &doc.Security}))
	op := doc.Paths["/v1/sums"].Post
	if len(op.RequestBody.Content) != 1 || op.RequestBody.Content["application/json"] == nil {
		t.Errorf("the request's body is %v", op.RequestBody.Content)
	}
	if forms := `"oneOf":[{"$ref":"#/components/schemas/Sum"},{"$ref":"#/components/schemas/Part"}]`; !strings.Contains(string(text), forms) {
		t.Errorf("%s lacks %s", text, forms)
	}
	for status, wait := range map[string]bool{"401": false, "403": false, "429": true, "503": true} {
		if answer := op.Responses[status]; answer == nil || (answer.Headers["Retry-After"] != nil) != wait {
			t.Errorf("%s is %+v", status, answer)
		}
	}
	if len(doc.Security) != 3 || len(doc.Security[0]) != 0 {
		t.Errorf("security is %v, want none, sigv4 or jwt", doc.Security)
	}
	var schemas struct {
		Components struct {
			Schemas map[string]struct {
				AdditionalProperties any
				Required             []string
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &schemas))
	for name, s := range schemas.Components.Schemas {
		if strict := name == "RequestBody" || name == "Part"; strict != (s.AdditionalProperties == false) {
			t.Errorf("%s: additional properties are %v", name, s.AdditionalProperties)
		}
	}
	if required := schemas.Components.Schemas["ErrorModel"].Required; len(required) != 3 {
		t.Errorf("errors require %v", required)
	}
}

// TestEachCallIsDocumented checks that calls of the package are in the document, with a name and a sentence each.
func TestEachCallIsDocumented(t *testing.T) {
	doc := httpapi.Describe(Routes(nil)).OpenAPI()
	if len(doc.Paths) < 10 || doc.Paths["/v1/hot-keys"] == nil || doc.Paths["/v1/counters"] == nil {
		t.Errorf("%d calls", len(doc.Paths))
	}
	for path, calls := range doc.Paths {
		if op := calls.Get; strings.Contains(op.OperationID, " ") || !strings.Contains(op.Summary, " ") || !strings.HasSuffix(op.Description, ".") {
			t.Errorf("%s: %q, %q, %q", path, op.OperationID, op.Summary, op.Description)
		}
	}
}
