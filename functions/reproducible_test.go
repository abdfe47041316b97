//go:build long

package functions_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestBuildIsReproducible checks that the same source in another folder builds the same bytes.
func TestBuildIsReproducible(t *testing.T) {
	const name = "aggregator"
	elsewhere := filepath.Join(t.TempDir(), "a", "copy")
	for _, dir := range []string{"functions", "internal", "pkg"} {
		require.NoError(t, os.CopyFS(filepath.Join(elsewhere, dir), os.DirFS(filepath.Join(root, dir))))
	}
	for _, file := range []string{"Makefile", "go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(elsewhere, file), content, 0o600))
	}
	require.NoError(t, makeFunctions(elsewhere, "dist", name))
	first, err1 := os.ReadFile(binary(t, name))
	second, err2 := os.ReadFile(filepath.Join(elsewhere, "dist", "amd64", name, "bootstrap"))
	if err1 != nil || err2 != nil || len(first) == 0 || !bytes.Equal(first, second) {
		t.Errorf("builds of %d and %d bytes differ; %v, %v", len(first), len(second), err1, err2)
	}
}
