// Package examples_test runs the programs of this folder as their readers would.
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

	"github.com/hotshard/hotshard/internal/local/enginetest"
)

// TestExamples runs each program on a database of its own: it prints what its comment says.
func TestExamples(t *testing.T) {
	endpoint := enginetest.Endpoint(t)
	programs := []string{"counters", "events", "boards", "sessions", "limits", "once", "migrate"}
	dir := build(t, programs)
	for _, name := range programs {
		t.Run(name, func(t *testing.T) {
			env := append(os.Environ(), "AWS_ENDPOINT_URL_DYNAMODB="+endpoint, "AWS_REGION=us-east-1",
				"AWS_ACCESS_KEY_ID="+rand.Text(), "AWS_SECRET_ACCESS_KEY=local")
			if got, want := run(t, filepath.Join(dir, name), env), promised(t, name); got != want {
				t.Errorf("it prints\n%sand its comment says\n%s", got, want)
			}
			run(t, filepath.Join(dir, name), env) // again, when its tables are there
		})
	}
}

// build returns the folder of the programs, made by one command.
func build(t *testing.T, programs []string) (dir string) {
	t.Helper()
	dir = t.TempDir() + string(filepath.Separator)
	args := []string{"build", "-o", dir}
	for _, name := range programs {
		args = append(args, "./"+name)
	}
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// run returns what a program prints. A change of a shard count is given up after a second, which
// a busy machine may need for it: the program makes it first of all, so it is started again.
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
	t.Fatal("it did not change a shard count in 20 attempts")
	return ""
}

// promised returns the indented lines of a program's comment.
func promised(t *testing.T, name string) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(name, "main.go"), nil, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var promised strings.Builder
	for line := range strings.Lines(file.Doc.Text()) {
		if text, indented := strings.CutPrefix(line, "\t"); indented {
			promised.WriteString(text)
		}
	}
	return promised.String()
}
