package system

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
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
		"the number of partitions is -1":   func(o *Options) { o.Limits = Limits{Partitions: -1, PartitionWCU: 1} },
		"partition's write units a second": func(o *Options) { o.Limits = Limits{Partitions: 1} },
		"table's write units a second":     func(o *Options) { o.Limits = Limits{Partitions: 1, PartitionWCU: 1, TableWCU: -1} },
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
	o.Endpoint = endpoint
	_, err := Start(t.Context(), o)
	prefix := "no DynamoDB-compatible engine at " + endpoint + ": "
	if err == nil || !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), want) ||
		strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "operation error") {
		t.Errorf("error = %v, want %s%s", err, prefix, want)
	}
}
