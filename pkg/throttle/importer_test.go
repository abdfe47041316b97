package throttle_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestImporter checks that a module that imports this package builds it without the modules of hotshard's
// terminal, browser and programs.
func TestImporter(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/tests\n\ngo 1.26.0\n\nrequire github.com/hotshard/hotshard v0.0.0\n\nreplace github.com/hotshard/hotshard => " + root + "\n",
		"go.sum": string(sums),
		"use.go": "package tests\n\nimport \"github.com/hotshard/hotshard/pkg/throttle\"\n\nvar _ = throttle.New\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	packages := list("list", "-deps", "-f", "{{if .Module}}{{.Module.Path}}{{end}}", ".")
	modules := map[string]bool{}
	for module := range strings.FieldsSeq(packages) {
		modules[module] = true
	}
	for module := range modules {
		switch module {
		case "example.com/tests", "github.com/hotshard/hotshard", "github.com/go-json-experiment/json", "github.com/cenkalti/backoff/v5", "golang.org/x/sync":
		default:
			if !strings.HasPrefix(module, "github.com/aws/") {
				t.Errorf("an importer builds %s", module)
			}
		}
	}
	if !modules["github.com/hotshard/hotshard"] || !modules["github.com/aws/smithy-go"] {
		t.Errorf("the list lacks what is needed: %v", modules)
	}
	if required := list("mod", "edit", "-json"); strings.Contains(required, "charmbracelet") {
		t.Errorf("an importer's go.mod has\n%s", required)
	}
}
