package infra

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hotshard/hotshard/infra/grants"
)

// template is a CloudFormation template.
type template struct {
	Resources map[string]resource
	Outputs   map[string]struct{ Value any }
	text      []byte
}

type resource struct {
	Type           string
	DeletionPolicy string
	UpdatePolicy   object
	Properties     object
}

// object is one of JSON's.
type object map[string]any

func (o object) object(name string) object { m, _ := o[name].(map[string]any); return m }
func (o object) list(name string) []any    { l, _ := o[name].([]any); return l }
func (o object) text(name string) string   { return text(o[name]) }
func (o object) number(name string) float64 {
	n, _ := o[name].(float64)
	return n
}

// text writes a value with references as in Fn::Sub: ${Table.Arn}/index/by_rank.
func text(value any) string {
	m, isObject := value.(map[string]any)
	if ref, ok := m["Ref"]; ok {
		return fmt.Sprintf("${%v}", ref)
	}
	if attribute, ok := m["Fn::GetAtt"].([]any); ok {
		return fmt.Sprintf("${%v.%v}", attribute[0], attribute[1])
	}
	if join, ok := m["Fn::Join"].([]any); ok {
		var parts []string
		for _, part := range join[1].([]any) {
			parts = append(parts, text(part))
		}
		return strings.Join(parts, join[0].(string))
	}
	if isObject {
		content, _ := json.Marshal(m)
		return string(content)
	}
	return fmt.Sprint(value)
}

// of returns the resources of a type by their ids; there must be some.
func (tm *template) of(t *testing.T, kind string) map[string]resource {
	t.Helper()
	found := maps.Clone(tm.Resources)
	maps.DeleteFunc(found, func(_ string, r resource) bool { return r.Type != kind })
	if len(found) == 0 {
		t.Fatalf("there is no %s", kind)
	}
	return found
}

// named returns the one resource of a type that has a property with that value.
func (tm *template) named(t *testing.T, kind, property, value string) (id string, r resource) {
	t.Helper()
	for id, r := range tm.of(t, kind) {
		if r.Properties.text(property) == value {
			return id, r
		}
	}
	t.Fatalf("there is no %s with %s %s", kind, property, value)
	return "", r
}

// dist is a folder like that of the built functions: what is in them does not matter.
var dist = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hotshard-dist-")
	for _, f := range grants.Functions {
		if err == nil {
			err = os.Mkdir(filepath.Join(dir, f), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f, "bootstrap"), []byte(f), 0o755)
		}
	}
	return dir, err
})

func TestMain(m *testing.M) {
	os.Setenv("CDK_VALIDATION", "false") // one test does that
	code := m.Run()
	if dir, err := dist(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// synth makes a template; the CDK's runtime takes one at a time.
func synth(context map[string]any) (*template, error) {
	dir, err := dist()
	if err != nil {
		return nil, err
	}
	out, err := os.MkdirTemp(dir, "out-")
	if err != nil {
		return nil, err
	}
	app, err := New(context, dir, out)
	if err != nil {
		return nil, err
	}
	app.Synth(nil)
	files, err := filepath.Glob(filepath.Join(out, "*.template.json"))
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("templates %q, %v", files, err)
	}
	tm := &template{}
	if tm.text, err = os.ReadFile(files[0]); err != nil {
		return nil, err
	}
	return tm, json.Unmarshal(tm.text, tm)
}

var whole = sync.OnceValues(func() (*template, error) { return synth(nil) })

// deployed is the template without any context.
func deployed(t *testing.T) *template {
	t.Helper()
	tm, err := whole()
	if err != nil {
		t.Fatal(err)
	}
	return tm
}

// with is the template with a context.
func with(t *testing.T, context map[string]any) *template {
	t.Helper()
	tm, err := synth(context)
	if err != nil {
		t.Fatal(err)
	}
	return tm
}

func sorted[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
