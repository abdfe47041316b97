package system

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/httpapi/docs"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/test/require"
)

// object is an object in the OpenAPI document.
type object = map[string]any

// documented is the document of all routes while it is checked.
type documented struct {
	t       *testing.T
	root    object
	schemas object
	seen    map[string]bool // checked components, by name and whether a request has them
}

// TestTheDocument checks that the OpenAPI document of all calls follows the rules that client generators and readers
// need. Each call must have a handler.
func TestTheDocument(t *testing.T) {
	routes := []httpapi.Routes{ingest.Routes(nil), query.Routes(nil)}
	handler := httpapi.New(slog.New(slog.NewTextHandler(t.Output(), nil)), routes...)
	answer := httptest.NewRecorder()
	docs.With(handler, routes...).
		ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/openapi.json", nil))
	checkGolden(t, answer.Body.Bytes())
	d := &documented{t: t, seen: map[string]bool{}}
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &d.root))
	d.schemas = d.at("components", "schemas")
	d.checkHead()
	operations := 0
	for path, item := range d.at("paths") {
		for method, op := range item.(object) {
			operations++
			d.checkOperation(method+" "+path, method, op.(object))
			checkReady(t, handler, strings.ToUpper(method), path)
		}
	}
	if operations != 19 {
		t.Errorf("the document has %d operations, want 19", operations)
	}
	for _, name := range slices.Sorted(maps.Keys(d.schemas)) {
		if !d.seen["answer "+name] && !d.seen["request "+name] {
			t.Errorf("nothing refers to the schema %s", name)
		}
	}
	for name, want := range map[string][]any{"ErrorModel": {"title", "status", "detail"}, "ErrorDetail": {"message"}} {
		if got, _ := d.schemas[name].(object)["required"].([]any); !slices.Equal(got, want) {
			t.Errorf("%s requires %v, want %v", name, got, want)
		}
	}
}

// checkReady checks that a call has a handler, with a request that the handler rejects.
func checkReady(t *testing.T, handler http.Handler, method, path string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, strings.NewReplacer("{", "", "}", "").Replace(path)+"?unknown=1", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	if answer.Code != http.StatusUnprocessableEntity || !strings.Contains(answer.Body.String(), "query.unknown") ||
		answer.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s %s: %d %v %s", method, path, answer.Code, answer.Header(), answer.Body)
	}
}

func (d *documented) at(path ...string) object {
	d.t.Helper()
	at := d.root
	for _, name := range path {
		next, ok := at[name].(object)
		if !ok {
			d.t.Fatalf("the document has no %v", path)
		}
		at = next
	}
	return at
}

// checkHead checks the document's general description.
func (d *documented) checkHead() {
	if servers, _ := d.root["servers"].([]any); len(servers) == 0 {
		d.t.Error("no servers")
	}
	schemes := d.at("components", "securitySchemes")
	if sigv4, _ := schemes["sigv4"].(object); sigv4["x-amazon-apigateway-authtype"] != "awsSigv4" {
		d.t.Errorf("the security schemes are %v", schemes)
	}
	security, _ := d.root["security"].([]any)
	for _, one := range security {
		for name := range one.(object) {
			if schemes[name] == nil {
				d.t.Errorf("there is no security scheme %s", name)
			}
		}
	}
	if len(security) < 2 {
		d.t.Errorf("security is %v", security)
	}
}

func (d *documented) checkOperation(name, method string, op object) {
	for _, member := range []string{"operationId", "summary", "description"} {
		if text, _ := op[member].(string); text == "" {
			d.t.Errorf("%s has no %s", name, member)
		}
	}
	tags, _ := op["tags"].([]any)
	if len(tags) != 1 || !slices.ContainsFunc(d.root["tags"].([]any), func(tag any) bool {
		return tag.(object)["name"] == tags[0] && tag.(object)["description"] != ""
	}) {
		d.t.Errorf("%s has the tags %v", name, tags)
	}
	parameters, _ := op["parameters"].([]any)
	for _, p := range parameters {
		d.checkParameter(name, p.(object))
	}
	responses := op["responses"].(object)
	if body, ok := op["requestBody"].(object); ok {
		d.checkSchema(name+": body", body["content"].(object)["application/json"].(object)["schema"].(object), true)
		if responses["408"] == nil || responses["413"] == nil || responses["415"] == nil {
			d.t.Errorf("%s has a body, but lacks a response 408, 413 or 415", name)
		}
	}
	for status, r := range responses {
		content, _ := r.(object)["content"].(object)
		for kind, media := range content {
			d.checkSchema(name+": "+status+" "+kind, media.(object)["schema"].(object), false)
		}
	}
	if method == "get" && op["requestBody"] != nil {
		d.t.Errorf("%s has a body", name)
	}
}

func (d *documented) checkParameter(op string, p object) {
	place := op + ": " + p["name"].(string)
	s := p["schema"].(object)
	if text, _ := p["description"].(string); text == "" {
		d.t.Errorf("%s has no description", place)
	}
	if p["required"] == true && s["examples"] == nil && s["enum"] == nil {
		d.t.Errorf("%s is required and has no example", place)
	}
	d.checkSchema(place, s, true)
	rule := map[string]string{"since": "pattern", "every": "enum", "Idempotency-Key": "pattern", "from": "format", "to": "format", "time": "format"}[p["name"].(string)]
	if rule != "" && s[rule] == nil {
		d.t.Errorf("%s has no %s", place, rule)
	}
}

// keywords lists the used keywords of JSON Schema.
var keywords = strings.Fields(`$ref additionalProperties default description enum examples format items maximum maxItems
	maxLength minimum minItems minLength multipleOf oneOf pattern properties required type contentEncoding`)

// checkSchema checks a schema of a request or a response, and the schemas that it refers to.
func (d *documented) checkSchema(place string, s object, ofRequest bool) {
	for keyword := range s {
		if !slices.Contains(keywords, keyword) && !strings.HasPrefix(keyword, "x-") {
			d.t.Errorf("%s: %s is not in the list of keywords", place, keyword)
		}
	}
	if !ofRequest && s["additionalProperties"] == false {
		d.t.Errorf("%s: a response forbids additional properties, so later fields break clients", place)
	}
	if s["type"] == "object" && ofRequest && s["properties"] != nil && s["additionalProperties"] != false {
		d.t.Errorf("%s: a request allows additional properties", place)
	}
	if ref, ok := s["$ref"].(string); ok {
		d.follow(ref[strings.LastIndex(ref, "/")+1:], ofRequest)
	}
	for _, part := range []string{"items", "additionalProperties"} {
		if inner, ok := s[part].(object); ok {
			d.checkSchema(place+"."+part, inner, ofRequest)
		}
	}
	choices, _ := s["oneOf"].([]any)
	for _, choice := range choices {
		d.checkSchema(place, choice.(object), ofRequest)
	}
	properties, _ := s["properties"].(object)
	for name, p := range properties {
		d.checkProperty(place+"."+name, p.(object), ofRequest)
	}
}

func (d *documented) checkProperty(place string, p object, ofRequest bool) {
	if text, _ := p["description"].(string); text == "" {
		d.t.Errorf("%s has no description", place)
	}
	scalar := p["type"] != "array" && p["$ref"] == nil
	if ofRequest && scalar && p["examples"] == nil && p["enum"] == nil && p["default"] == nil {
		d.t.Errorf("%s has no example", place)
	}
	d.checkSchema(place, p, ofRequest)
}

// follow checks a component, once for requests and once for responses.
func (d *documented) follow(name string, ofRequest bool) {
	key := map[bool]string{true: "request ", false: "answer "}[ofRequest] + name
	s, ok := d.schemas[name].(object)
	if !ok {
		d.t.Errorf("there is no schema %s", name)
	}
	if ok && !d.seen[key] {
		d.seen[key] = true
		d.checkSchema(name, s, ofRequest)
	}
}

// checkGolden compares the document with testdata/openapi.json. To accept a change of the API, run
// go test ./internal/tool/system -run TestTheDocument -update.
func checkGolden(t *testing.T, document []byte) {
	t.Helper()
	golden := filepath.Join("testdata", "openapi.json")
	var got bytes.Buffer
	require.NoError(t, json.Indent(&got, document, "", " "))
	if *update {
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the document differs (-golden +now):\n%s", cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")))
	}
}
