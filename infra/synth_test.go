package infra

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
)

// template is a CloudFormation template.
type template struct {
	Resources  map[string]resource
	Outputs    map[string]struct{ Value any }
	Parameters map[string]object
	Conditions map[string]any
	text       []byte
}

type resource struct {
	Type                                string
	DeletionPolicy, UpdateReplacePolicy string
	UpdatePolicy                        object
	Properties                          object
}

// object is a JSON object.
type object map[string]any

func (o object) object(name string) object { m, _ := o[name].(map[string]any); return m }
func (o object) list(name string) []any    { l, _ := o[name].([]any); return l }
func (o object) text(name string) string   { return text(o[name]) }
func (o object) objects(name string) (list []object) {
	for _, one := range o.list(name) {
		list = append(list, one.(map[string]any))
	}
	return list
}
func (o object) number(name string) float64 {
	n, _ := o[name].(float64)
	return n
}

// text returns a value with its references in the form of Fn::Sub: ${Table.Arn}/index/by_rank.
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

// of returns the resources of a type by id. It fails the test if there is none.
func (tm *template) of(t *testing.T, kind string) map[string]resource {
	t.Helper()
	found := maps.Clone(tm.Resources)
	maps.DeleteFunc(found, func(_ string, r resource) bool { return r.Type != kind })
	if len(found) == 0 {
		t.Fatalf("there is no %s", kind)
	}
	return found
}

// named returns a resource of a type that has a property with this value. It fails the test if there is none.
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

// function returns a function's id and properties.
func (tm *template) function(t *testing.T, name string) (id string, properties object) {
	t.Helper()
	id, r := tm.named(t, "AWS::Lambda::Function", "FunctionName", "hotshard-"+name)
	return id, r.Properties
}

// at returns the properties of the resource of a reference, or of a reference to an attribute.
func (tm *template) at(reference string) object { return tm.Resources[unref(reference)].Properties }

func unref(text string) string {
	id, _, _ := strings.Cut(strings.Trim(text, "${}"), ".")
	return id
}

func TestMain(m *testing.M) {
	os.Setenv("CDK_VALIDATION", "false") // TestExtraValidation turns it on
	if os.Getenv("HOTSHARD_CACHE") == "" {
		os.Setenv("HOTSHARD_CACHE", filepath.Join(coreRoot, ".cache")) // the core module's engine
	}
	m.Run()
}

// newApp returns the app and its output folder. The functions' files have any content.
func newApp(t *testing.T, context map[string]any) (app awscdk.App, out string) {
	t.Helper()
	dist, out := t.TempDir(), t.TempDir()
	for _, f := range Functions {
		err := os.Mkdir(filepath.Join(dist, f), 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(dist, f, "bootstrap"), []byte(f), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	app, err := New(context, dist, out)
	if err != nil {
		t.Fatal(err)
	}
	return app, out
}

var made = map[string]*template{} // by context

// with returns the template for a context. Tests are not parallel, since the CDK's runtime synthesizes one at a time.
func with(t *testing.T, context map[string]any) *template {
	t.Helper()
	key := fmt.Sprintf("%#v", context)
	if made[key] == nil {
		app, out := newApp(t, context)
		app.Synth(nil)
		files, err := filepath.Glob(filepath.Join(out, "*.template.json"))
		if err != nil || len(files) != 1 {
			t.Fatalf("templates %q, %v", files, err)
		}
		made[key] = readTemplate(t, files[0])
	}
	return made[key]
}

func readTemplate(t *testing.T, file string) *template {
	t.Helper()
	content, err := os.ReadFile(file)
	tm := &template{text: content}
	if err == nil {
		err = json.Unmarshal(content, tm)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tm
}

// deployed returns the template without a context.
func deployed(t *testing.T) *template {
	t.Helper()
	return with(t, nil)
}

func sorted[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
