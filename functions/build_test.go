package functions_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
)

const root = ".." // of the module

var names = []string{"ingest", "hotkeys", "aggregator", "reader", "query"}

func TestMain(m *testing.M) {
	code := m.Run()
	if dist != "" {
		os.RemoveAll(dist)
	}
	os.Exit(code)
}

var (
	dist  string
	built = sync.OnceValue(func() error {
		if err := dependOnSources(); err != nil {
			return err
		}
		var err error
		if dist, err = os.MkdirTemp("", "hotshard-functions-"); err != nil {
			return err
		}
		return makeFunctions(root, dist, names...)
	})
)

// dependOnSources makes the test's cached result depend on the sources. go test tracks only files that the test itself
// opens, not those that make reads.
func dependOnSources() error {
	for _, dir := range []string{"functions", "internal", "pkg", "events"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			return err
		}
	}
	for _, file := range []string{"Makefile", "go.mod", "go.sum"} {
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			return err
		}
	}
	return nil
}

// makeFunctions runs `make functions` for amd64.
func makeFunctions(dir, dist string, names ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "make", "--no-print-directory", "functions",
		"ARCHS=amd64", "DIST="+dist, "FUNCTIONS="+strings.Join(names, " "))
	cmd.Dir = dir
	for _, v := range os.Environ() { // without the variables of a make that runs this test
		if !strings.HasPrefix(v, "MAKE") && !strings.HasPrefix(v, "MFLAGS") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make functions: %w: %s", err, out)
	}
	return nil
}

// binary returns the path of a function that is built as `make build` does.
func binary(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds the functions, which -short does without")
	}
	require.NoError(t, built())
	return filepath.Join(dist, "amd64", name, "bootstrap")
}

// TestBuildMode checks that everyone may run the files, since Lambda's user is not their owner.
func TestBuildMode(t *testing.T) {
	for _, name := range names {
		info, err := os.Stat(binary(t, name))
		if err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: mode %v, %v; want 0755", name, info.Mode(), err)
		}
	}
}
