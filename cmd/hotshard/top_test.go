package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/streamshard"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/heatview"
)

// TestTopOfForeignTable checks that top names the hot key of a table which another client writes, and that it only reads.
func TestTopOfForeignTable(t *testing.T) {
	t.Parallel()
	endpoint := enginetest.Endpoint(t)
	table := enginetest.Prefix("foreign")
	db := dynamolocal.DynamoDB(endpoint, "")
	createTable(t, db, table, types.StreamViewTypeNewAndOldImages, "customer", "order")
	ctx, interrupt := context.WithCancelCause(t.Context())
	stop := func() { interrupt(interruption{os.Interrupt}) }
	defer stop()
	var writers sync.WaitGroup
	writers.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			var puts []types.WriteRequest
			for i := range 10 {
				it := item{"customer": str("customer-7"), "order": str(fmt.Sprint(n, "-", i)), "data": str(strings.Repeat("x", 500))}
				if i > 7 {
					it["customer"] = str(fmt.Sprint("customer-", 100+n%50))
				}
				puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
			}
			if _, err := db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: puts}}); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
			<-tick.C
		}
	})
	defer writers.Wait()
	defer stop()
	began := time.Now()
	var out lineWriter
	out.each = func(line string) {
		var w heatview.Line
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Errorf("%v in %s", err, line)
			return
		}
		if len(w.Keys) == 0 || w.Keys[0].Key != "customer-7" {
			return
		}
		out.named = cmp.Or(out.named, time.Since(began))
		if out.hot == 0 && w.Keys[0].Status != "warm" {
			out.hot = time.Since(began)
			stop()
		}
	}
	var errOut bytes.Buffer
	calls := &recorder{}
	// The key gets 40 WCU/s, or fewer on a busy machine. It is hot from 14.
	code := run(ctx, []string{"top", "--table", table, "--endpoint", calls.before(t, endpoint), "--json", "--partition-wcu", "20", "--duration", "60s"}, streams{out: &out, err: &errOut})
	if code != 130 || out.hot == 0 || !strings.Contains(errOut.String(), "Local engine: can't check for other stream readers") {
		t.Fatalf("exit %d, hot after %v, want 130 and some time: %s", code, out.hot, errOut.String())
	}
	t.Logf("the hot key is the first one %.1f s after the start, and hot by a complete window after %.1f s", out.named.Seconds(), out.hot.Seconds())
	calls.check(t)
}

// recorder is a proxy before an engine that records the calls.
type recorder struct {
	mu    sync.Mutex
	calls []string
	polls []time.Time // times of GetRecords; the engine has one stream shard
}

func (c *recorder) before(t *testing.T, endpoint string) string {
	t.Helper()
	return enginetest.Proxy(t, endpoint, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		c.mu.Lock()
		c.calls = append(c.calls, operation)
		if operation == "GetRecords" {
			c.polls = append(c.polls, time.Now())
		}
		c.mu.Unlock()
		forward.ServeHTTP(w, r)
	})
}

// check checks that all calls only read, and that the stream shard is polled at most once a second. The measured times
// include the machine's delays.
func (c *recorder) check(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls {
		if !slices.Contains([]string{"DescribeTable", "DescribeStream", "GetShardIterator", "GetRecords"}, call) {
			t.Errorf("unexpected call of %s", call)
		}
	}
	if n := len(c.polls); n < 2 || float64(n-1) > c.polls[n-1].Sub(c.polls[0]).Seconds()+1 {
		t.Errorf("%d polls, want 2 or more, and at most one a second: %v", n, c.polls)
	}
}

// lineWriter calls each for each complete line.
type lineWriter struct {
	rest       []byte
	each       func(line string)
	named, hot time.Duration
}

func (l *lineWriter) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		l.rest = rest
		l.each(string(line))
	}
}

// TestTopErrors checks that an error is one line with what is missing, where, and what to do.
func TestTopErrors(t *testing.T) {
	db := enginetest.Client(t)
	asOwner(t, db)
	endpoint := aws.ToString(db.Options().BaseEndpoint)
	names := enginetest.Tables(t, db)
	rejecting := func(code, message string) string {
		target, _ := mapAPI(t, http.StatusBadRequest, fmt.Sprintf(`{"__type":"com.amazon.coral.service#%s","message":%q}`, code, message))
		return target
	}
	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--table", "oders", "--endpoint", endpoint}, `Table "oders" not found at ` + endpoint + `. Check --table and --endpoint.`},
		{[]string{"--table", "oders", "--endpoint", "http://127.0.0.1:1"}, `No DynamoDB at http://127.0.0.1:1 for table "oders": connection refused. Check --endpoint`},
		{[]string{"--table", "oders", "--endpoint", page.URL}, "What answers at " + page.URL + " is not DynamoDB (HTTP status 404)"},
		{[]string{"--table", names.ShardMap, "--endpoint", endpoint}, "has no stream to read its writes from; to enable one, run: aws dynamodb update-table"},
		{[]string{"--table", names.Items, "--index", "nope", "--endpoint", endpoint}, `has no index "nope". Check --index: `},
		{[]string{"--stack", "--tables-prefix", "nope-", "--endpoint", endpoint}, `No hotshard deployment with the table prefix "nope-" at ` + endpoint},
		{[]string{"--table", "o", "--endpoint", rejecting("AccessDeniedException", "User: arn:aws:iam::1:user/ann is not authorized to perform: dynamodb:DescribeTable on resource: x")}, "Access denied: your credentials may not call dynamodb:DescribeTable for table \"o\""},
		{[]string{"--table", "o", "--endpoint", rejecting("ExpiredTokenException", "expired")}, "have expired. Run aws sso login"},
		{[]string{"--table", "o", "--endpoint", rejecting("UnrecognizedClientException", "no")}, "does not accept the credentials"},
	} {
		code, out, errs := hotshard(t, append([]string{"top", "--duration", "1m"}, c.args...)...)
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		if last := lines[len(lines)-1]; code != exitBad || out != "" || len(lines) > 2 || !strings.Contains(last, c.want) {
			t.Errorf("%q: exit %d with %s%s\nwant 1 with %s", c.args, code, out, errs, c.want)
		}
	}
	t.Setenv("HOTSHARD_ENDPOINT", "") // `make test` sets it
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
	t.Setenv("AWS_CONFIG_FILE", "/nowhere")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	if code, _, errs := hotshard(t, "top", "--table", "orders", "--region", "eu-west-1"); code != exitBad || !strings.Contains(errs, `No AWS credentials for table "orders" in eu-west-1. Set AWS_PROFILE`) {
		t.Errorf("without credentials: exit %d with %s", code, errs)
	}
}

// TestTopErrorsOfCredentials checks which errors of credentials pass, and that the message has their cause.
func TestTopErrorsOfCredentials(t *testing.T) {
	responding := func(status int, body string) string {
		target, _ := mapAPI(t, status, body)
		return target
	}
	const denied = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>User: arn:aws:iam::1:user/ann is not authorized to perform: sts:AssumeRole on resource: arn:aws:iam::1:role/r</Message></Error></ErrorResponse>"
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte("[profile role]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = keys\n[profile keys]\naws_access_key_id = k\naws_secret_access_key = s\n[profile process]\ncredential_process = false\n"), 0o600))
	t.Setenv("HOTSHARD_ENDPOINT", "")
	t.Setenv("AWS_CONFIG_FILE", file)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	for _, c := range []struct {
		name, profile, sts string
		passing            bool
		want               string
	}{
		{"denied", "role", responding(http.StatusForbidden, denied), false, ": STS AssumeRole: AccessDenied: User: arn:aws:iam::1:user/ann is not authorized to perform: sts:AssumeRole on resource: arn:aws:iam::1:role/r. Set AWS_PROFILE, run aws sso login"},
		{"no connection", "role", "http://127.0.0.1:1", true, ": STS AssumeRole: connection refused. Check the network, and run the command again."},
		{"status 503", "role", responding(http.StatusServiceUnavailable, ""), true, ": STS AssumeRole: HTTP status 503. Check the network"},
		{"failed program", "process", "", false, ": process provider error: error in credential_process: exit status 1. Set AWS_PROFILE"},
		{"nothing configured", "", "", false, ". Set AWS_PROFILE, run aws sso login"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range map[string]string{
				"AWS_PROFILE": c.profile, "AWS_ENDPOINT_URL_STS": c.sts,
				"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "true",
			} {
				t.Setenv(name, value)
			}
			from := heatFrom{Table: "orders", Region: "eu-west-1"}
			config, err := from.config(t.Context())
			require.NoError(t, err)
			_, err = dynamodb.NewFromConfig(config).ListTables(t.Context(), &dynamodb.ListTablesInput{})
			if streamshard.Passing(err) != c.passing || errors.Is(err, streamshard.ErrNoCredentials) == c.passing {
				t.Errorf("Passing(%v) = %t, want %t", err, streamshard.Passing(err), c.passing)
			}
			text := from.explain(t.Context(), config, err).Error()
			if !strings.HasPrefix(text, `No AWS credentials for table "orders" in eu-west-1`) || !strings.Contains(text, c.want) {
				t.Errorf("explained as %s\nwant %s", text, c.want)
			}
		})
	}
	elsewhere := &credentialsError{&smithy.OperationError{ServiceID: imds.ServiceID, OperationName: "GetMetadata", Err: &url.Error{Op: "Get", URL: "http://169.254.169.254", Err: syscall.ECONNREFUSED}}}
	if !errors.Is(elsewhere, streamshard.ErrNoCredentials) || elsewhere.cause() != "" {
		t.Errorf("a machine that is no EC2 instance: cause %q, want none", elsewhere.cause())
	}
}

// TestTopExplainsLaterErrors checks that errors of a deployment's tables after the first read are explained too.
func TestTopExplainsLaterErrors(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "LOCAL")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "local")
	var fault atomic.Value // of the type string; "" for an empty response
	fault.Store("")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if body := fault.Load().(string); body != "" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, body)
			return
		}
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct{ fault, want string }{
		{
			`{"__type":"com.amazon.coral.service#AccessDeniedException","message":"User: arn:aws:iam::1:user/ann is not authorized to perform: dynamodb:Query on resource: x"}`,
			"Access denied: your credentials may not call dynamodb:Query for the tables hotshard-*",
		},
		{`{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"expired"}`, "have expired. Run aws sso login"},
	} {
		fault.Store("")
		h := heatFrom{Stack: true, Endpoint: server.URL, TablesPrefix: "hotshard-"}
		configured, err := h.config(t.Context())
		require.NoError(t, err)
		w, err := h.openStack(t.Context(), configured)
		require.NoError(t, err)
		fault.Store(c.fault)
		if _, err = w.Shards.Lookup(t.Context(), "C#page", time.Now()); err == nil || w.Transient(err) {
			t.Errorf("a lookup that AWS rejects: %v, want an error that is not transient", err)
		} else if err = w.Explain(t.Context(), err); !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "operation error") {
			t.Errorf("explained as %v\nwant %s", err, c.want)
		}
	}
}
