package throttled

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/npm"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

const (
	attempts   = 3 // of a throttled call
	exception  = "ProvisionedThroughputExceededException"
	reason     = "TableWriteKeyRangeThroughputExceeded"
	javaScript = "@aws-sdk/client-dynamodb@3.1169.0"
)

// proxied is a throttling proxy with a table, and its count of PutItem calls.
type proxied struct {
	url, table string
	puts       atomic.Int64
}

func newProxied(t *testing.T) *proxied {
	t.Helper()
	engine, err := url.Parse(enginetest.Endpoint(t))
	require.NoError(t, err)
	limiter, err := throttle.New(throttle.Options{Partitions: 1, PartitionWCU: 1})
	require.NoError(t, err)
	p, proxy := &proxied{table: enginetest.Prefix("sdk")}, limiter.Proxy(engine)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutItem") {
			p.puts.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	id := aws.String("id")
	db := dynamolocal.DynamoDB(p.url, "x", func(o *dynamodb.Options) { o.Region = "eu-west-1" }) // the programs' database
	_, err = db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &p.table, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: id, KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: id, AttributeType: types.ScalarAttributeTypeS}},
	})
	require.NoError(t, err)
	return p
}

// check runs a program that prints its SDK's error of a throttled PutItem.
func (p *proxied) check(t *testing.T, reasons bool, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, append(args, p.url, p.table)...)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	var got struct {
		Code       string
		Attempts   int
		Throttling *bool // by the SDK's own detection; nil if the program does not print it
		Reasons    []string
	}
	if err != nil || json.Unmarshal(out, &got) != nil {
		t.Fatalf("%v: %s%s", err, out, errOut.String())
	}
	if got.Code != exception || got.Attempts != attempts || got.Throttling != nil && !*got.Throttling || reasons && !slices.Equal(got.Reasons, []string{reason}) {
		t.Errorf("the SDK reports %+v, want %s after %d attempts for %s", got, exception, attempts, reason)
	}
	if n := p.puts.Load(); n != 1+attempts { // the first call is not throttled
		t.Errorf("%d calls reached the proxy, want %d", n, 1+attempts)
	}
}

func TestPython(t *testing.T) {
	p := newProxied(t)
	const knows = "import boto3; print('ThrottlingReasons' in boto3.client('dynamodb', region_name='x').meta.service_model.shape_for('" + exception + "').members)"
	out, err := exec.CommandContext(t.Context(), "python3", "-c", knows).Output()
	if err != nil {
		t.Skipf("python3 has no boto3, which missing.sh reports: %v", err)
	}
	reasons := strings.TrimSpace(string(out)) == "True"
	p.check(t, reasons, "python3", "sdk.py")
}

func TestJavaScript(t *testing.T) {
	p := newProxied(t)
	cache, err := npm.CacheDir()
	require.NoError(t, err)
	dir := filepath.Join(cache, "sdk-javascript")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	if out, err := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--prefer-offline", javaScript).CombinedOutput(); err != nil {
		t.Fatalf("npm install %s: %v\n%s", javaScript, err, out)
	}
	program, err := os.ReadFile("sdk.mjs")
	require.NoError(t, err)
	copied := filepath.Join(dir, "sdk.mjs") // node looks for modules beside the program
	require.NoError(t, os.WriteFile(copied, program, 0o600))
	p.check(t, true, "node", copied)
}

// TestJava uses the SDK that is part of DynamoDB Local.
func TestJava(t *testing.T) {
	p := newProxied(t)
	if out, err := exec.CommandContext(t.Context(), "javac", "-version").CombinedOutput(); err != nil {
		t.Skipf("javac -version, which missing.sh reports: %v %s", err, out)
	}
	engine, err := dynamolocal.FetchEngine(t.Context(), os.Stderr)
	require.NoError(t, err)
	p.check(t, true, "java", "-cp", filepath.Join(engine, "DynamoDBLocal_lib", "*"), "Sdk.java")
}

func TestCLI(t *testing.T) {
	p := newProxied(t)
	if out, err := exec.CommandContext(t.Context(), "aws", "--version").CombinedOutput(); err != nil {
		t.Skipf("aws --version, which missing.sh reports: %v %s", err, out)
	}
	item := fmt.Sprintf(`{"id":{"S":"hot"},"text":{"S":%q}}`, strings.Repeat("x", 100_000))
	put := func() (string, error) {
		cmd := exec.CommandContext(t.Context(), "aws", "dynamodb", "put-item", "--endpoint-url", p.url, "--region", "eu-west-1", "--table-name", p.table, "--item", item)
		cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_RETRY_MODE=standard", fmt.Sprint("AWS_MAX_ATTEMPTS=", attempts))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := put(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := put(); err == nil || !strings.Contains(out, exception) || !strings.Contains(out, fmt.Sprint("reached max retries: ", attempts-1)) {
		t.Errorf("the CLI reports %v: %s", err, out)
	}
	if n := p.puts.Load(); n != 1+attempts {
		t.Errorf("%d calls reached the proxy, want %d", n, 1+attempts)
	}
}
