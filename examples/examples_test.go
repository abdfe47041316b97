// Package examples_test runs the example programs as their readers would.
package examples_test

import (
	"bytes"
	"crypto/rand"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"

	// What the programs use: a change of these makes go test run the programs again.
	_ "github.com/hotshard/hotshard/pkg/shard/grow"
	_ "github.com/hotshard/hotshard/pkg/shard/setup"
	_ "github.com/hotshard/hotshard/pkg/shard/table"
)

// TestExamples runs each program on a database of its own, and compares its output with its comment.
func TestExamples(t *testing.T) {
	t.Parallel()
	endpoint, dir := enginetest.Endpoint(t), t.TempDir()
	list, err := filepath.Glob("*/main.go")
	if err != nil || len(list) == 0 {
		t.Fatalf("there are no programs, %v", err)
	}
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir, "./...").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	for _, file := range list {
		name := filepath.Dir(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := append(os.Environ(), "AWS_ENDPOINT_URL_DYNAMODB="+endpoint, "AWS_REGION=us-east-1", // each caller has a database of its own
				"AWS_ACCESS_KEY_ID="+rand.Text(), "AWS_SECRET_ACCESS_KEY=local")
			if got, want := run(t, filepath.Join(dir, name), env), promised(t, name); got != want {
				t.Errorf("the program prints\n%sbut its comment says\n%s", got, want)
			}
			if require.LongRun {
				run(t, filepath.Join(dir, name), env) // with existing tables
			}
		})
	}
}

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
