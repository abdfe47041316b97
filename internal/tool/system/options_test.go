package system

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
)

// good are valid options.
func good() Options {
	return Options{Addr: "127.0.0.1:0", Prefix: "hotshard-", Window: 10 * time.Second, Control: "act"}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, set := range map[string]func(*Options){
		`address "nonsense"`:               func(o *Options) { o.Addr = "nonsense" },
		`address ""`:                       func(o *Options) { o.Addr = "" },
		`address ":http"`:                  func(o *Options) { o.Addr = ":http" },
		`address "127.0.0.1:65536"`:        func(o *Options) { o.Addr = "127.0.0.1:65536" },
		`endpoint "nonsense"`:              func(o *Options) { o.Endpoint = "nonsense" },
		`endpoint "localhost:8000"`:        func(o *Options) { o.Endpoint = "localhost:8000" },
		`endpoint "ftp://localhost"`:       func(o *Options) { o.Endpoint = "ftp://localhost" },
		`endpoint "http://:8000"`:          func(o *Options) { o.Endpoint = "http://:8000" },
		`prefix "a b"`:                     func(o *Options) { o.Prefix = "a b" },
		`prefix "é"`:                       func(o *Options) { o.Prefix = "é" },
		"prefix of 245 characters":         func(o *Options) { o.Prefix = strings.Repeat("a", 245) },
		"window 1.5s":                      func(o *Options) { o.Window = 1500 * time.Millisecond },
		"window 0s":                        func(o *Options) { o.Window = 0 },
		"idle window -1s":                  func(o *Options) { o.Idle = -time.Second },
		"idle window 2m1s":                 func(o *Options) { o.Idle = 2*time.Minute + time.Second },
		"window 15m1s":                     func(o *Options) { o.Window = 15*time.Minute + time.Second },
		"the number of partitions is -1":   func(o *Options) { o.Limits = Limits{Partitions: -1, PartitionWCU: 1} },
		"partition's write units a second": func(o *Options) { o.Limits = Limits{Partitions: 1} },
		"table's write units a second":     func(o *Options) { o.Limits = Limits{Partitions: 1, PartitionWCU: 1, TableWCU: -1} },
		"the time to a split is -1ns":      func(o *Options) { o.Limits = Limits{Partitions: 1, PartitionWCU: 1, SplitAfter: -1} },
		"the hold of a transaction is 2s": func(o *Options) {
			o.Limits = Limits{Partitions: 1, PartitionWCU: 1, TransactionHold: 2 * time.Second}
		},
		"data folder": func(o *Options) { o.Endpoint, o.DataDir = "http://x", "y" },
	} {
		o := good()
		set(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Validate() = %v, want one line with %q", err, want)
		}
	}
}

// TestNoEngine checks the errors of endpoints that are no DynamoDB.
func TestNoEngine(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, want string
	}{
		{http.StatusOK, "<html>", "HTTP status 200"},
		{http.StatusOK, "{}", "no TableNames"},
		{http.StatusNotFound, "<html>", "HTTP status 404"},
		{http.StatusNotFound, `{"title":"Not Found"}`, "HTTP status 404"},
		{http.StatusBadRequest, `{"__type":"com.amazon.coral.service#UnrecognizedClientException","message":"who?"}`, "UnrecognizedClientException: who?"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}))
		wantNoEngine(t, server.URL, c.want)
		server.Close()
	}
	wantNoEngine(t, "http://127.0.0.1:1", "connection refused")
}

func wantNoEngine(t *testing.T, endpoint, want string) {
	t.Helper()
	o := good()
	o.Endpoint, o.Failures = endpoint, filepath.Join(t.TempDir(), "failures.jsonl")
	_, err := Start(t.Context(), o)
	prefix := "no DynamoDB-compatible engine at " + endpoint + ": "
	if err == nil || !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), want) ||
		strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "operation error") {
		t.Errorf("error = %v, want %s%s", err, prefix, want)
	}
}

// TestFailureFileIsTriedAtStart checks that Start fails if the failure file can't be written, and that it keeps the file's
// lines.
func TestFailureFileIsTriedAtStart(t *testing.T) {
	dir := t.TempDir()
	o := good()
	o.Endpoint = "http://127.0.0.1:1" // the failure file is checked first
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("a line\n"), 0o600))
	for _, bad := range []string{dir, filepath.Join(file, "failures.jsonl"), ""} {
		o.Failures = bad
		if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "file for discarded records") {
			t.Errorf("failure file %q: error %v", bad, err)
		}
	}
	if err := createFailureFile(file); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "a line\n" {
		t.Errorf("the file has %q, %v; want its line", text, err)
	}
	if err := createFailureFile(filepath.Join(dir, "new", "folder", "failures.jsonl")); err != nil {
		t.Error(err)
	}
}
