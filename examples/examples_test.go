// Package examples_test runs an example program as its readers would.
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

	// What the program uses: a change of these makes go test run the program again.
	_ "github.com/hotshard/hotshard/pkg/shard/setup"
	_ "github.com/hotshard/hotshard/pkg/shard/table"
)

// TestFixedCount runs the program fixedcount on a database of its own, and compares its output with its comment.
func TestFixedCount(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "fixedcount")
	env := append(os.Environ(), "AWS_ENDPOINT_URL_DYNAMODB="+enginetest.Endpoint(t), "AWS_REGION=us-east-1", // each caller has a database of its own
		"AWS_ACCESS_KEY_ID="+rand.Text(), "AWS_SECRET_ACCESS_KEY=local")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "./fixedcount").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "fixedcount/main.go", nil, parser.PackageClauseOnly|parser.ParseComments)
	require.NoError(t, err)
	var promised strings.Builder // the indented lines of the comment
	for line := range strings.Lines(file.Doc.Text()) {
		if text, indented := strings.CutPrefix(line, "\t"); indented {
			promised.WriteString(text)
		}
	}
	if got := run(t, program, env); got != promised.String() {
		t.Errorf("the program prints\n%sbut its comment says\n%s", got, &promised)
	}
	if require.LongRun {
		run(t, program, env) // with existing tables
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
