//go:build long

package functions_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestBuildIsReproducible checks that the same source in another folder builds the same bytes.
func TestBuildIsReproducible(t *testing.T) {
	const name = "aggregator"
	elsewhere := filepath.Join(t.TempDir(), "a", "copy")
	for _, dir := range []string{"functions", "internal", "pkg"} {
		if err := os.CopyFS(filepath.Join(elsewhere, dir), os.DirFS(filepath.Join(root, dir))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"Makefile", "go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(elsewhere, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := makeFunctions(elsewhere, "dist", name); err != nil {
		t.Fatal(err)
	}
	first, err1 := os.ReadFile(binary(t, name))
	second, err2 := os.ReadFile(filepath.Join(elsewhere, "dist", "amd64", name, "bootstrap"))
	if err1 != nil || err2 != nil || len(first) == 0 || !bytes.Equal(first, second) {
		t.Errorf("builds of %d and %d bytes differ; %v, %v", len(first), len(second), err1, err2)
	}
}
