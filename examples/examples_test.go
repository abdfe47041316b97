// Package examples_test runs the example programs as their readers would.
package examples_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"

	// What the programs use: a change of these makes go test run the programs again.
	_ "github.com/hotshard/hotshard/pkg/shard/grow"
	_ "github.com/hotshard/hotshard/pkg/shard/setup"
	_ "github.com/hotshard/hotshard/pkg/shard/table"
)

// folder has the built programs until all tests have ended.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "examples"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// TestExamples runs each program on a database of its own, and compares its output with its comment.
func TestExamples(t *testing.T) {
	t.Parallel()
	endpoint := enginetest.Endpoint(t)
	list, err := programs()
	require.NoError(t, err)
	dir := built(t)
	for _, name := range list {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := environment(endpoint, rand.Text())
			if got, want := run(t, filepath.Join(dir, name), env), promised(t, name); got != want {
				t.Errorf("the program prints\n%sbut its comment says\n%s", got, want)
			}
			if require.LongRun {
				run(t, filepath.Join(dir, name), env) // with existing tables
			}
		})
	}
}

// programs returns the folders with a program.
func programs() (names []string, err error) {
	files, err := filepath.Glob("*/main.go")
	for _, file := range files {
		names = append(names, filepath.Dir(file))
	}
	if err == nil && len(names) == 0 {
		err = errors.New("there are no programs")
	}
	return names, err
}

// environment returns the environment of a program. In the engine, each caller has a database of its own.
func environment(endpoint, caller string) []string {
	return append(os.Environ(), "AWS_ENDPOINT_URL_DYNAMODB="+endpoint, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID="+caller, "AWS_SECRET_ACCESS_KEY=local")
}

// built returns the folder with all programs. The first call builds them.
func built(t *testing.T) (dir string) {
	t.Helper()
	require.Engine(t) // as each program does
	require.NoError(t, buildAll())
	return folder
}

var buildAll = sync.OnceValue(func() error {
	names, err := programs()
	if err != nil {
		return err
	}
	args := []string{"build", "-ldflags=-s -w", "-o", folder + string(filepath.Separator)}
	for _, name := range names {
		args = append(args, "./"+name)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
})

// run returns a program's output. It retries a program whose first call, a change of a shard count, exceeds its second, as
// on a busy machine.
func run(t *testing.T, program string, env []string) string {
	t.Helper()
	for range 20 {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env, cmd.Stdout, cmd.Stderr = env, &stdout, &stderr
		err := cmd.Run()
		if err == nil {
			return stdout.String()
		}
		if !strings.Contains(stderr.String(), "changing the shard count") {
			t.Fatalf("%v: %s%s", err, &stdout, &stderr)
		}
	}
	t.Fatal("the program could not change a shard count in 20 attempts")
	return ""
}

// promised returns the indented lines of a program's comment.
func promised(t *testing.T, name string) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(name, "main.go"), nil, parser.PackageClauseOnly|parser.ParseComments)
	require.NoError(t, err)
	var promised strings.Builder
	for line := range strings.Lines(file.Doc.Text()) {
		if text, indented := strings.CutPrefix(line, "\t"); indented {
			promised.WriteString(text)
		}
	}
	return promised.String()
}
