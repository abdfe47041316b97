package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/test/require"
)

const (
	pinnedKey = `{"type":"counter","name":"/a b#1","shards":20,"max_shards":40,"pinned":true,"history":[` +
		`{"time":"2026-01-02T03:04:05Z","shards":40,"by":"hotkeys","why":"800 units a second"},` +
		`{"time":"2026-01-02T04:00:00Z","shards":20,"by":"api","why":"pinned"}]}`
	shardMap = `{"keys":[` + pinnedKey + `,{"type":"entity","name":"é","shards":2,"max_shards":2,"pinned":false,"history":[]}]}`
)

// mapAPI starts an API that always sends this response, and records the last request.
func mapAPI(t *testing.T, status int, response string) (target string, request *string) {
	request = new(string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*request = r.Method + " " + r.URL.String()
		if r.Method == http.MethodPut {
			*request += " " + r.Header.Get("Content-Type") + " " + string(body)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, response)
	}))
	t.Cleanup(server.Close)
	return server.URL, request
}

// shardsCalls are the commands that call the API, with their requests, responses and output.
var shardsCalls = []struct {
	name     string
	args     []string
	request  string
	response string
	prints   []string
}{
	{
		"list", []string{"list"}, "GET /v1/shards", shardMap,
		[]string{"PINNED", "│ counter │ /a b#1 │     20 │  40 │ true   │ 2026-01-02T04:00:00Z │", "│ entity  │ é      │      2 │   2 │ false  │                      │"},
	},
	{
		"get", []string{"get", "--type", "counter", "--name", "/a b#1"}, "GET /v1/shards?name=%2Fa+b%231&type=counter", pinnedKey,
		[]string{"counter /a b#1: 20 write shards (most so far: 40), pinned; --unpin returns control to autoscaling\n", "│ 2026-01-02T03:04:05Z │           40 │ hotkeys    │ 800 units a second │", "pinned "},
	},
	{
		"set", []string{"set", "--type", "counter", "--name", "/a b#1", "--shards", "20"},
		`PUT /v1/shards application/json {"name":"/a b#1","shards":20,"type":"counter"}`, pinnedKey,
		[]string{"counter /a b#1: 20 write shards"},
	},
	{
		"unpin", []string{"set", "--type", "counter", "--name", "/a b#1", "--unpin"},
		`PUT /v1/shards application/json {"name":"/a b#1","shards":null,"type":"counter"}`, pinnedKey,
		[]string{"counter /a b#1: 20 write shards"},
	},
}

// TestShards checks the request and the output of each command, as a table and as JSON.
func TestShards(t *testing.T) {
	for _, c := range shardsCalls {
		t.Run(c.name, func(t *testing.T) {
			target, request := mapAPI(t, http.StatusOK, c.response)
			code, out, err := hotshard(t, append([]string{"shards"}, append(c.args, "--target", target+"/")...)...)
			if code != exitOK || err != "" || *request != c.request {
				t.Errorf("exit %d with %q after %s, want %s", code, err, *request, c.request)
			}
			wantText(t, out, c.prints...)
			code, out, err = hotshard(t, append([]string{"shards"}, append(c.args, "--json", "--target", target)...)...)
			if code != exitOK || err != "" {
				t.Errorf("exit %d with %q", code, err)
			}
			if diff := cmp.Diff(decoded(t, c.response), decoded(t, out)); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
		})
	}
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// TestCredentialsExpireBeforeTheCall checks the error of credentials that a provider returns only once, already expired.
func TestCredentialsExpireBeforeTheCall(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	process := fmt.Sprintf(`mkdir %s/once && echo '{"Version":1,"AccessKeyId":"a","SecretAccessKey":"b","SessionToken":"c","Expiration":"2020-01-01T00:00:00Z"}'`, dir)
	require.NoError(t, os.WriteFile(file, []byte("[default]\ncredential_process = "+process+"\n"), 0o600))
	credentials(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_CONFIG_FILE", file)
	code, _, err := hotshard(t, "shards", "list", "--auth", "iam", "--target", "http://127.0.0.1:1")
	if code != exitBad || !strings.Contains(err, "reading the AWS credentials: ") || strings.Contains(err, "no hotshard API") {
		t.Errorf("exit %d with %q, want the error of the credentials", code, err)
	}
}

func TestShardsFailsInOneLine(t *testing.T) {
	const dead = "http://127.0.0.1:1" // no other process can listen there
	for _, c := range shardsCalls {
		for _, f := range []struct {
			status         int
			response, want string
		}{
			{http.StatusUnprocessableEntity, `{"detail":"validation failed","errors":[{"location":"body.shards","message":"want 1 to 1000"}]}`,
				": 422 Unprocessable Entity: validation failed; body.shards: want 1 to 1000\n"},
			{http.StatusServiceUnavailable, `{"detail":"the shard map could not be read"}`, "503 Service Unavailable: the shard map could not be read\n"},
			{http.StatusNotFound, "<html>", ": 404 Not Found\n"},
			{http.StatusOK, "<html>", "reading the response: "},
			{0, "", "no hotshard API answers at " + dead + ": check --target, "},
		} {
			target := dead
			if f.status != 0 {
				target, _ = mapAPI(t, f.status, f.response)
			}
			code, out, err := hotshard(t, append([]string{"shards"}, append(c.args, "--target", target)...)...)
			if code != exitBad || out != "" || strings.Count(err, "\n") != 1 || !strings.Contains(err, f.want) {
				t.Errorf("%s: exit %d with %q, want one line with %q", c.name, code, err, f.want)
			}
		}
	}
}
