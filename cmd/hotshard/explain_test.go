package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/system"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestExplain checks explanations of a table's throttles from the throttling proxy, and of those in a log.
func TestExplain(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_CLOUDWATCH", "")
	engine, err := url.Parse(enginetest.Endpoint(t))
	require.NoError(t, err)
	l, err := throttle.New(throttle.Options{Partitions: 1, PartitionWCU: 1, Base: dynamolocal.Transport()})
	require.NoError(t, err)
	proxy := httptest.NewServer(l.Proxy(engine))
	t.Cleanup(proxy.Close)
	name := enginetest.Prefix("explained")
	db := dynamolocal.DynamoDB(proxy.URL, "", func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	createTable(t, db, name, "", "id")
	args := []string{"explain", "--table", name, "--endpoint", proxy.URL}
	if code, out, _ := hotshard(t, args...); code != exitOK || !strings.Contains(out, name+" was not throttled from") {
		t.Errorf("before the writes: exit %d with\n%s", code, out)
	}
	for n := range 4 {
		if err := putLarge(t, db, name, item{"id": str("hot")}); (err == nil) != (n == 0) {
			t.Fatalf("write %d: %v", n, err)
		}
	}
	const reason = "TableWriteKeyRangeThroughputExceeded"
	log := filepath.Join(t.TempDir(), "app.log")
	require.NoError(t, os.WriteFile(log, []byte("{'reason': '"+reason+"', 'resource': 'arn:aws:dynamodb:eu-west-1:1:table/"+name+"'}\nDynamoDB: ThrottlingException\n"), 0o600))
	for what, c := range map[string]struct {
		more    []string
		finding string
		share   float64
		unknown float64
		notes   string
	}{
		"the proxy":            {nil, "hot", 1, 0, "has no stream"},
		"the proxy, by ARN":    {[]string{"--table", "arn:aws:dynamodb:eu-west-1:123456789012:table/" + name}, "hot", 1, 0, "has no stream"},
		"a log and the engine": {[]string{"--endpoint", engine.String(), "--log", log}, "", 0.5, 0.5, "The engine has no CloudWatch"},
	} {
		code, out, errText := hotshard(t, append(args, append(c.more, "--json")...)...)
		var r struct {
			Table    string
			Findings []struct {
				Reason, Scope, Operation, Confidence string
				Keys                                 []struct{ Key string }
				Share                                float64
			}
			Unknown float64
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitOK || r.Table != name || len(r.Findings) != 1 || r.Unknown != c.unknown || !strings.Contains(errText, c.notes) {
			t.Fatalf("%s: exit %d, %v, %q; want one finding in\n%s", what, code, err, errText, out)
		}
		f := r.Findings[0]
		if f.Reason != reason || f.Scope != "table" || f.Operation != "write" || f.Confidence != "measured" || f.Share != c.share || c.finding != "" && f.Keys[0].Key != c.finding {
			t.Errorf("%s: finding %+v", what, f)
		}
	}
	if code, _, errText := hotshard(t, "explain", "--table", "nowhere", "--endpoint", proxy.URL); code != exitBad || !strings.Contains(errText, `Table "nowhere" not found`) {
		t.Errorf("a missing table: exit %d with %q", code, errText)
	}
	createTable(t, db, name+"-heat", "", "pk", "sk") // an attached deployment's only table
	const attached = "If it is attached to a table, explain that table with --table."
	if code, out, errText := hotshard(t, "explain", "--stack", "--tables-prefix", name+"-", "--endpoint", proxy.URL); code != exitOK || !strings.Contains(out, attached) {
		t.Errorf("an attached deployment: exit %d with %s%s, want %q", code, out, errText, attached)
	}
	if code, _, errText := hotshard(t, "explain", "--stack", "--tables-prefix", "nowhere-", "--endpoint", proxy.URL); code != exitBad || !strings.Contains(errText, `No hotshard deployment with the table prefix "nowhere-"`) {
		t.Errorf("a missing deployment: exit %d with %q", code, errText)
	}
}

// TestExplainStack checks that a throttled key of a deployment gets the advice for its write shards.
func TestExplainStack(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_CLOUDWATCH", "")
	prefix := enginetest.Prefix("explained")
	s := runSystem(t, system.Options{Prefix: prefix, Window: time.Second, Idle: time.Second, Control: "observe",
		Limits: system.Limits{Partitions: 16, PartitionWCU: 5}, Notices: os.Stderr})
	response, err := http.Post(s.URL()+"/v1/events", "application/json", strings.NewReader(`{"events":[`+strings.Repeat(`{"entity":"sensor"},`, 39)+`{"entity":"sensor"}]}`))
	require.NoError(t, err)
	response.Body.Close()
	code, out, errText := hotshard(t, "explain", "--stack", "--tables-prefix", prefix, "--endpoint", s.LimitedEndpoint())
	for _, want := range []string{prefix + "*, ", "TableWriteKeyRangeThroughputExceeded, measured", "keys  E#sensor#", "entity sensor"} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("exit %d with %s%s; want %q", code, out, errText, want)
		}
	}
}

// TestProgressEndsBeforeItBegins checks that a past which can't be read ends without a progress bar.
func TestProgressEndsBeforeItBegins(*testing.T) {
	_, finish := windowsProgress(streams{io.Discard, io.Discard})
	finish()
}
