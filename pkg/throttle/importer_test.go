package throttle_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestImporter checks that a module that imports this package does not build the modules of hotshard's commands.
func TestImporter(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"go.mod": "module example.com/tests\n\ngo 1.26.0\n\nrequire github.com/hotshard/hotshard v0.0.0\n\nreplace github.com/hotshard/hotshard => " + root + "\n",
		"go.sum": string(sums),
		"use.go": "package tests\n\nimport \"github.com/hotshard/hotshard/pkg/throttle\"\n\nvar _ = throttle.New\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
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
		t.Errorf("the list lacks hotshard or the SDK: %v", modules)
	}
	if required := list("mod", "edit", "-json"); strings.Contains(required, "go-pretty") {
		t.Errorf("an importer's go.mod has\n%s", required)
	}
}
