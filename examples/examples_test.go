// Package examples_test runs the programs of this folder as their readers would.
package examples_test

import (
	"bytes"
	"crypto/rand"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hotshard/hotshard/internal/local/enginetest"
)

// TestExamples runs each program on a database of its own: it prints what its comment says.
func TestExamples(t *testing.T) {
	endpoint := enginetest.Endpoint(t)
	list := programs(t)
	dir := build(t, list)
	for _, name := range list {
		t.Run(name, func(t *testing.T) {
			env := environment(endpoint, rand.Text())
			if got, want := run(t, filepath.Join(dir, name), env), promised(t, name); got != want {
				t.Errorf("it prints\n%sand its comment says\n%s", got, want)
			}
			run(t, filepath.Join(dir, name), env) // again, when its tables are there
		})
	}
}

// TestExamplesWaitForWhatLags runs programs on an engine that for a while finds nothing in an index,
// and never anything by another eventually consistent query: they print the same.
func TestExamplesWaitForWhatLags(t *testing.T) {
	programs := []string{"boards", "sessions", "migrate"}
	dir := build(t, programs)
	for _, name := range programs {
		t.Run(name, func(t *testing.T) {
			var late atomic.Int64
			endpoint := before(t, func(operation, body string) (status int, answer string) {
				ofIndex := strings.Contains(body, `"IndexName"`)
				if operation != "Query" || strings.Contains(body, `"ConsistentRead":true`) || ofIndex && late.Add(1) > 5 {
					return 0, ""
				}
				return http.StatusOK, `{"Count":0,"Items":[],"ScannedCount":0}`
			})
			if got, want := run(t, filepath.Join(dir, name), environment(endpoint, rand.Text())), promised(t, name); got != want {
				t.Errorf("it prints\n%sand its comment says\n%s", got, want)
			}
			if name != "migrate" && late.Load() <= 5 {
				t.Errorf("it reads the index %d times", late.Load())
			}
		})
	}
}

// TestMigrateLeavesNoTable: after a run that could not wait for its table, the next one makes it anew.
func TestMigrateLeavesNoTable(t *testing.T) {
	program := filepath.Join(build(t, []string{"migrate"}), "migrate")
	endpoint := before(t, func(operation, _ string) (status int, answer string) {
		if operation != "DescribeTable" {
			return 0, ""
		}
		return http.StatusBadRequest, `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"not to be described"}`
	})
	caller := rand.Text()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = environment(endpoint, caller)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "not to be described") {
		t.Fatalf("a table that can't be described: %v: %s", err, out)
	}
	if got, want := run(t, program, environment(enginetest.Endpoint(t), caller)), promised(t, "migrate"); got != want {
		t.Errorf("it prints\n%sand its comment says\n%s", got, want)
	}
}

// before returns the endpoint of a server before the engine, which gives an answer instead of it
// where the status is not 0.
func before(t *testing.T, instead func(operation, body string) (status int, answer string)) string {
	t.Helper()
	engine, err := url.Parse(enginetest.Endpoint(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(engine)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		if status, answer := instead(operation, string(body)); status != 0 {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, answer)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// programs are the folders with a program, but for the one that has a test of its own.
func programs(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := filepath.Dir(file); name != "shardtable" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		t.Fatal("there are no programs")
	}
	return names
}

// environment is a program's whose database is that of a caller's name.
func environment(endpoint, caller string) []string {
	return append(os.Environ(), "AWS_ENDPOINT_URL_DYNAMODB="+endpoint, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID="+caller, "AWS_SECRET_ACCESS_KEY=local")
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
