package throttled

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

const (
	attempts   = 3 // of a throttled call
	reason     = "TableWriteKeyRangeThroughputExceeded"
	javaScript = "@aws-sdk/client-dynamodb@3.1169.0"
)

// exceptions are those of a hot key, by the billing of its table.
var exceptions = map[types.BillingMode]string{
	types.BillingModeProvisioned: "ProvisionedThroughputExceededException", types.BillingModePayPerRequest: "ThrottlingException",
}

// use is a table as a program names it.
type use struct {
	table   string // its name or ARN
	billing types.BillingMode
	admits  int64 // calls before the first throttle: by its ARN the table has the capacity that is left
}

// proxied is a throttling proxy with two tables, and its count of PutItem calls by the name in them.
type proxied struct {
	url  string
	uses []use

	mu   sync.Mutex
	puts map[string]int64
}

func newProxied(t *testing.T) *proxied {
	t.Helper()
	engine, err := url.Parse(enginetest.Endpoint(t))
	require.NoError(t, err)
	limiter, err := throttle.New(throttle.Options{Partitions: 1, PartitionWCU: 1})
	require.NoError(t, err)
	p, proxy := &proxied{puts: map[string]int64{}}, limiter.Proxy(engine)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the proxy fails if it is cut off
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutItem") {
			p.count(body)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	for _, billing := range []types.BillingMode{types.BillingModeProvisioned, types.BillingModePayPerRequest} {
		p.addTable(t, billing)
	}
	return p
}

func (p *proxied) addTable(t *testing.T, billing types.BillingMode) {
	t.Helper()
	id, name := aws.String("id"), enginetest.Prefix("sdk")
	db := dynamolocal.DynamoDB(p.url, "x", func(o *dynamodb.Options) { o.Region = "eu-west-1" }) // the programs' database
	in := &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: billing,
		KeySchema:            []types.KeySchemaElement{{AttributeName: id, KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: id, AttributeType: types.ScalarAttributeTypeS}},
	}
	if billing == types.BillingModeProvisioned {
		in.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1000), WriteCapacityUnits: aws.Int64(1000)}
	}
	_, err := db.CreateTable(t.Context(), in)
	require.NoError(t, err)
	p.uses = append(p.uses, use{name, billing, 1}, use{"arn:aws:dynamodb:eu-west-1:123456789012:table/" + name, billing, 0})
}

func (p *proxied) count(body []byte) {
	var in struct{ TableName string }
	if json.Unmarshal(body, &in) == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.puts[in.TableName]++
	}
}

// checkCalls checks that the proxy received the calls of a use.
func (p *proxied) checkCalls(t *testing.T, u use) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.puts[u.table]; n != u.admits+attempts {
		t.Errorf("%s: %d calls reached the proxy, want %d", u.table, n, u.admits+attempts)
	}
}

// check runs a program that prints its SDK's error of a throttled PutItem for each table.
func (p *proxied) check(t *testing.T, reasons bool, name string, args ...string) {
	t.Helper()
	args = append(args, p.url)
	for _, u := range p.uses {
		args = append(args, u.table)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, errOut.String())
	}
	lines := json.NewDecoder(bytes.NewReader(out))
	for _, u := range p.uses {
		var got struct {
			Class, Code string
			Attempts    int
			Throttling  *bool // by the SDK's own detection; nil if the program does not print it
			Reasons     []string
		}
		if err := lines.Decode(&got); err != nil {
			t.Fatalf("%v: %s%s", err, out, errOut.String())
		}
		want := exceptions[u.billing]
		if got.Class != want || got.Code != want || got.Attempts != attempts || got.Throttling != nil && !*got.Throttling || reasons && !slices.Equal(got.Reasons, []string{reason}) {
			t.Errorf("%s: the SDK reports %+v, want %s after %d attempts for %s", u.table, got, want, attempts, reason)
		}
		p.checkCalls(t, u)
	}
}

func TestPython(t *testing.T) {
	t.Parallel()
	p := newProxied(t)
	const knows = "import boto3; print('ThrottlingReasons' in boto3.client('dynamodb', region_name='x').meta.service_model.shape_for('ProvisionedThroughputExceededException').members)"
	out, err := exec.CommandContext(t.Context(), "python3", "-c", knows).Output()
	if err != nil {
		t.Skipf("python3 has no boto3, which missing.sh reports: %v", err)
	}
	reasons := strings.TrimSpace(string(out)) == "True"
	p.check(t, reasons, "python3", "sdk.py")
}

func TestJavaScript(t *testing.T) {
	t.Parallel()
	p := newProxied(t)
	cache, err := dynamolocal.CacheDir()
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
	t.Parallel()
	p := newProxied(t)
	if out, err := exec.CommandContext(t.Context(), "javac", "-version").CombinedOutput(); err != nil {
		t.Skipf("javac -version, which missing.sh reports: %v %s", err, out)
	}
	engine, err := dynamolocal.FetchEngine(t.Context(), os.Stderr)
	require.NoError(t, err)
	p.check(t, true, "java", "-cp", filepath.Join(engine, "DynamoDBLocal_lib", "*"), "Sdk.java")
}

func TestCLI(t *testing.T) {
	t.Parallel()
	p := newProxied(t)
	if out, err := exec.CommandContext(t.Context(), "aws", "--version").CombinedOutput(); err != nil {
		t.Skipf("aws --version, which missing.sh reports: %v %s", err, out)
	}
	item := fmt.Sprintf(`{"id":{"S":"hot"},"text":{"S":%q}}`, strings.Repeat("x", 100_000))
	put := func(table string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "aws", "dynamodb", "put-item", "--endpoint-url", p.url, "--region", "eu-west-1", "--table-name", table, "--item", item)
		cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_RETRY_MODE=standard", fmt.Sprint("AWS_MAX_ATTEMPTS=", attempts))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, u := range p.uses {
		for range u.admits {
			if out, err := put(u.table); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		if out, err := put(u.table); err == nil || !strings.Contains(out, "("+exceptions[u.billing]+")") || !strings.Contains(out, fmt.Sprint("reached max retries: ", attempts-1)) {
			t.Errorf("the CLI reports %v: %s", err, out)
		}
		p.checkCalls(t, u)
	}
}

// TestPythonOfTheDocument checks that the program reads the reasons as docs/throttle.md says.
func TestPythonOfTheDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/throttle.md")
	require.NoError(t, err)
	program, err := os.ReadFile("sdk.py")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(page), "```python\n")
	sample, _, ok := strings.Cut(rest, "\n```")
	if !ok || !strings.Contains(string(program), sample+"\n") {
		t.Errorf("sdk.py lacks the sample %q", sample)
	}
}
