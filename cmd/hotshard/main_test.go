package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/load"
)

// hotshard runs the command line and returns its exit code and output.
func hotshard(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var outBuf, errBuf bytes.Buffer
	code = run(t.Context(), args, streams{out: &outBuf, err: &errBuf})
	return code, outBuf.String(), errBuf.String()
}

// checkOneLine runs a command with each of these arguments. It must exit with this code, and print one line with the
// text.
func checkOneLine(t *testing.T, exit int, command string, cases map[string]string) {
	t.Helper()
	for args, want := range cases {
		code, out, err := hotshard(t, strings.Fields(command+args)...)
		err = strings.TrimPrefix(err, "workload zipf, seed 1\n") // which a load prints first
		if code != exit || out != "" || strings.Count(err, "\n") != 1 || !strings.Contains(err, want) {
			t.Errorf("%s%s: exit %d with %q and %q, want %d and one line with %q", command, args, code, err, out, exit, want)
		}
	}
}

// forgetful starts an API that accepts all writes and stores none. Its summaries are always ahead.
func forgetful(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch {
		case r.Method == http.MethodPost:
			fmt.Fprint(w, `{"results":[{"status":"accepted"}]}`)
		case r.URL.Path == "/v1/counters":
			value := 0
			if query.Get("consistency") == "eventual" {
				value = 1000
			}
			list := []map[string]any{}
			for _, name := range query["name"] {
				list = append(list, map[string]any{"counter": name, "value": value})
			}
			json.NewEncoder(w).Encode(map[string]any{"counters": list})
		default:
			fmt.Fprint(w, `{"status":"ok","events":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestHelp checks that hotshard help COMMAND prints what COMMAND --help does.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"load"}, {"demo"}, {"shards", "set"}} {
		code, out, _ := hotshard(t, append(slices.Clone(args), "--help")...)
		if code != exitOK || !strings.Contains(out, "Usage: hotshard "+strings.Join(args, " ")) {
			t.Errorf("%q: exit %d with %q", args, code, out)
		}
		if again, text, _ := hotshard(t, append([]string{"help"}, args...)...); again != code || text != out {
			t.Errorf("help %q: exit %d with %q", args, again, text)
		}
	}
}

func TestWrongUsageIsOneLine(t *testing.T) {
	checkOneLine(t, exitUsage, "", map[string]string{
		"":                                     "expected one of",
		"nope":                                 "unexpected argument nope",
		"load":                                 "want one of --access-log and --workload",
		"load --workload zipf --access-log x":  "want one of --access-log and --workload",
		"load --workload storm":                `--workload "storm": want one of zipf`,
		"load --workload zipf --count=-1":      "--count -1",
		"load --workload zipf --keys 0":        "--keys 0",
		"load --workload zipf --concurrency 0": "--concurrency 0: want 1 to 1024",
		"demo --for 30s":                       "--for 30s: want 40s to 10m0s",
		"demo --addr nonsense":                 `address "nonsense"`,
		"local --partition-wcu 5":              "--partition-wcu needs --partitions",
		"local --addr nonsense":                `address "nonsense": want host:port`,
		"local --addr":                         "--addr: it needs a value (see hotshard local --help)",
		"shards set --shards":                  "--shards: it needs a value (see hotshard shards set --help)",
		"shards set --type entity --name x --shards 0":       "--shards 0: want 1 to 1000",
		"local --duration=-1s":                               "--duration -1s",
		"local --partition-wcu 0":                            "--partition-wcu 0: want at least 1",
		"local --partitions 4 --partition-wcu=-1":            "--partition-wcu -1: want at least 1",
		"local --table-wcu 100":                              "--table-wcu needs --partitions",
		"throttle --before http://x --split-after 10ms":      "--split-after 10ms: want 0, or 1s to 24h0m0s",
		"throttle --before http://x --transaction-hold=-1ms": "--transaction-hold -1ms: want 0 to 1s",
		"throttle":                   "missing flags: --before=URL",
		"plan --gb 5":                "missing flags: --peak-wcu=N",
		"delete":                     "missing flags: --type=TYPE, --name=STRING",
		"adopt --table=":             "--table is empty: want a table's name or ARN",
		"throttle --before nonsense": `--before "nonsense": want a URL`,
		"throttle --before https://dynamodb.eu-west-1.amazonaws.com": "AWS, which checks signatures",
		"throttle --before http://x --addr nonsense":                 `--addr "nonsense": want host:port`,
		"throttle --before http://x --partition-rcu 0":               "--partition-rcu 0: want at least 1",
		"throttle --before http://x --burst 0s":                      "--burst 0s: want 1s to 1h0m0s",
		"top":                                                        "want one of --table and --stack",
		"top --table x --stack":                                      "want one of --table and --stack",
		"top --stack --force":                                        "--force needs --table",
		"top --table x --duration=-1s":                               "--duration -1s",
		"top --table x --endpoint nonsense":                          `endpoint "nonsense": want a URL`,
		"explain":                                                    "want one of --table and --stack",
		"top --table arn:aws:dynamodb:eu-west-1:123456789012:table/x/index/i":                   `--table: "arn:aws:dynamodb:eu-west-1:123456789012:table/x/index/i" is the ARN of a part of a table: leave out /index/i`,
		"console --table arn:aws:sqs:eu-west-1:123456789012:x":                                  "--table: \"arn:aws:sqs:eu-west-1:123456789012:x\" is not the ARN of a DynamoDB table, such as",
		"explain --table arn:aws:dynamodb:eu-west-1:123456789012:table/x --region eu-west-2":    "--region eu-west-2: the table of this ARN is in eu-west-1",
		"explain --table x --since 5s":                                                          "--since 5s: want 1m to 24h",
		"adopt --format #":                                                                      "missing flags: --table=NAME",
		"adopt --table x --format=":                                                             "--format is empty: want text that separates",
		"adopt --table arn:aws:s3:::orders --format #":                                          "is not the ARN of a DynamoDB table",
		"adopt --table arn:aws:dynamodb:eu-west-1:1:table/orders --format # --region eu-west-2": "--region eu-west-2: the table of this ARN is in eu-west-1",
		"adopt --table x --format # --read-units 0":                                             "--read-units 0: want 1 to 1000000",
		"adopt --table x --format # --endpoint nonsense":                                        `endpoint "nonsense": want a URL`,
		"shards get --type entity":                                                              "missing flags: --name=STRING",
		"shards set --type entity --name x":                                                     "want one of --shards and --unpin",
		"shards set --type entity --name x --unpin --target nonsense":                           `target "nonsense": want a URL`,
	})
}

func TestLoadFailsInOneLine(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.log")
	require.NoError(t, os.WriteFile(bad, []byte("nonsense\n"), 0o600))
	checkOneLine(t, exitBad, "load ", map[string]string{
		"--access-log " + bad:                                  "bad.log:1: time: ",
		"--access-log /nowhere":                                "no such file",
		"--access-log " + bad + " --target http://[::1]:1":     "bad.log:1: ",
		"--workload zipf --seed 1 --target http://127.0.0.1:1": "no hotshard API answers at http://127.0.0.1:1",
	})
}

func TestLocalFailsInOneLine(t *testing.T) {
	t.Parallel()
	checkOneLine(t, exitBad, "local --addr 127.0.0.1:0 ", map[string]string{
		"--endpoint http://127.0.0.1:1": "no DynamoDB-compatible engine at http://127.0.0.1:1: ",
		"--endpoint " + forgetful(t):    "no TableNames",
	})
}

func TestLoadPrintsTable(t *testing.T) {
	code, out, err := hotshard(t, "load", "--workload", "viral", "--count", "20", "--seed", "7", "--target", forgetful(t))
	if code != exitOK {
		t.Errorf("exit %d: %s", code, err)
	}
	wantText(t, out, "workload", "viral", "seed", "requests/s", "20 (32 in flight)")
}

func TestLoadExitsBadOnDifferences(t *testing.T) {
	code, out, err := hotshard(t, "load", "--access-log", "../../events/access.log.gz", "--count", "3",
		"--verify", "--settle", "10ms", "--json", "--target", forgetful(t))
	var result load.Result
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	// The differences are three paths and three events.
	if code != exitBad || result.Verify.Differences != 6 || len(result.Verify.First) != 6 {
		t.Errorf("exit %d with %s, want 1 and 6 differences", code, out)
	}
	if !strings.Contains(err, "verification found 6 differences") {
		t.Errorf("error = %q", err)
	}
}
