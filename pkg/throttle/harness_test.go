package throttle_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

const (
	tableName = "limited"
	byGroup   = "by_group"
	tableARN  = "arn:aws:dynamodb:ddblocal:000000000000:table/" + tableName
	indexARN  = tableARN + "/index/" + byGroup

	tableWriteThrottled = "TableWriteKeyRangeThroughputExceeded " + tableARN
	indexWriteThrottled = "IndexWriteKeyRangeThroughputExceeded " + indexARN
)

// roomy are options whose partitions throttle no test by accident.
var roomy = throttle.Options{Partitions: 16, PartitionWCU: 1000}

// clock is a clock that only advance moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// bench is a limiter before a database of its own, which has one or more tables.
type bench struct {
	*throttle.Limiter
	*clock
	db     *dynamodb.Client // sends through the limiter
	direct *dynamodb.Client // sends to the engine
	key    string           // the access key, which DynamoDB Local takes as the name of the database
	wire   *wire            // of db
	plain  *wire            // of direct
}

func newBench(t testing.TB, o throttle.Options, tables ...*dynamodb.CreateTableInput) *bench {
	t.Helper()
	// The engine remembers a database's tokens of transactions, so none is used twice.
	b := &bench{clock: &clock{now: time.Unix(1_800_000_000, 0)}, key: "t" + rand.Text()}
	if o.Now = b.Now; o.Base == nil {
		o.Base = dynamolocal.Transport()
	}
	var err error
	if b.Limiter, err = throttle.New(o); err != nil {
		t.Fatal(err)
	}
	b.wire = &wire{base: b.Limiter}
	b.db = client(t, b.key, b.wire)
	b.plain = &wire{base: dynamolocal.Transport()}
	b.direct = client(t, b.key, b.plain)
	if tables == nil {
		tables = []*dynamodb.CreateTableInput{onDemandTable()}
	}
	for _, table := range tables {
		_, err := b.db.CreateTable(t.Context(), table)
		require.NoError(t, err)
	}
	return b
}

// client returns a client that never retries and that verifies checksums.
func client(t testing.TB, key string, transport http.RoundTripper) *dynamodb.Client {
	return dynamolocal.DynamoDB(enginetest.Endpoint(t), key, func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: transport}
		o.Retryer = aws.NopRetryer{}
		o.DisableValidateResponseChecksum = false
		o.Logger = logging.Nop{} // the engine sends no checksum with errors
	})
}

// wire records the last response, and fails if a response has a wrong checksum or length. It sends a
// copy of the body: the SDK closes its body when a response begins. The transport may take that for a
// failed write and close the connection under a long response.
type wire struct {
	base http.RoundTripper
	mu   sync.Mutex
	body []byte
	head http.Header
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Body = io.NopCloser(bytes.NewReader(sent))
	resp, err := w.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if sum := resp.Header.Get("X-Amz-Crc32"); sum != "" && sum != strconv.Itoa(int(crc32.ChecksumIEEE(body))) {
		return nil, errors.New("wrong checksum")
	}
	if length := resp.Header.Get("Content-Length"); length != "" && length != strconv.Itoa(len(body)) {
		return nil, errors.New("wrong length")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.body, w.head = body, resp.Header
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// onDemandTable has a local index, and a sparse global index with the projection INCLUDE whose sort key is a number.
func onDemandTable() *dynamodb.CreateTableInput {
	key := func(hash, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{
			{AttributeName: &hash, KeyType: types.KeyTypeHash},
			{AttributeName: &sort, KeyType: types.KeyTypeRange},
		}
	}
	define := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	return &dynamodb.CreateTableInput{
		TableName:   aws.String(tableName),
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   key("pk", "sk"),
		AttributeDefinitions: []types.AttributeDefinition{
			define("pk", "S"), define("sk", "S"), define("group", "S"), define("rank", "N"),
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(byGroup), KeySchema: key("group", "rank"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"tag"}},
		}},
		LocalSecondaryIndexes: []types.LocalSecondaryIndex{{
			IndexName: aws.String("by_rank"), KeySchema: key("pk", "rank"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}
}

func provisionedTable() *dynamodb.CreateTableInput {
	table := onDemandTable()
	throughput := &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(5), WriteCapacityUnits: aws.Int64(5)}
	table.BillingMode = types.BillingModeProvisioned
	table.ProvisionedThroughput = throughput
	table.GlobalSecondaryIndexes[0].ProvisionedThroughput = throughput
	return table
}

type values = map[string]types.AttributeValue

func s(text string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: text} }
func n(digits string) types.AttributeValue { return &types.AttributeValueMemberN{Value: digits} }

func keyOf(pk, sk string) values { return values{"pk": s(pk), "sk": s(sk)} }

func itemOf(pk, sk string, more values) values {
	item := keyOf(pk, sk)
	maps.Copy(item, more)
	return item
}

func grouped(group, rank string) values { return values{"group": s(group), "rank": n(rank)} }

// sized returns an attribute of this many thousand bytes.
func sized(kb float64) values {
	return values{"data": s(string(bytes.Repeat([]byte("x"), int(kb*1000))))}
}

// wantEqual checks that got equals want.
func wantEqual(t testing.TB, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantThrottled checks that err is a throttle of an on-demand or a provisioned table with these reasons.
func wantThrottled(t testing.TB, what string, err error, want ...string) {
	t.Helper()
	wantEqual(t, what, want, throttled(t, err))
}

// throttled returns the reasons of a throttle of an on-demand or a provisioned table.
func throttled(t testing.TB, err error) []string {
	t.Helper()
	code, reasons := throttleOf(t, err)
	if code != "ThrottlingException" && code != "ProvisionedThroughputExceededException" {
		t.Fatalf("got %v, want a throttle", err)
	}
	return reasons
}

// throttleOf returns the code and the reasons of a throttle, which must have a message.
func throttleOf(t testing.TB, err error) (code string, texts []string) {
	t.Helper()
	var reasons []types.ThrottlingReason
	if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
		reasons = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
		reasons = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.RequestLimitExceeded](err); ok {
		reasons = e.ThrottlingReasons
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok || api.ErrorMessage() == "" {
		t.Fatalf("got %v, want an exception with a message", err)
	}
	for _, r := range reasons {
		texts = append(texts, aws.ToString(r.Reason)+" "+aws.ToString(r.Resource))
	}
	return api.ErrorCode(), texts
}

// apart returns partition keys that are on different partitions.
func (b *bench) apart(t testing.TB, count int) []string {
	t.Helper()
	var keys []string
	seen := map[int]bool{}
	for i := 0; len(keys) < count; i++ {
		if i == 10_000 {
			t.Fatalf("no %d partitions found", count)
		}
		key := "key" + strconv.Itoa(i)
		if p := b.Partition(key); !seen[p] {
			seen[p] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// image returns all items of the table by their keys.
func (b *bench) image(t testing.TB) map[string]values {
	t.Helper()
	out, err := b.direct.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(tableName), ConsistentRead: aws.Bool(true)})
	require.NoError(t, err)
	items := map[string]values{}
	for _, item := range out.Items {
		items[item["pk"].(*types.AttributeValueMemberS).Value+"/"+item["sk"].(*types.AttributeValueMemberS).Value] = item
	}
	return items
}

// ignoreUnexported ignores unexported fields of the SDK's types.
var ignoreUnexported = cmp.FilterPath(func(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && !unicode.IsUpper(rune(field.Name()[0]))
}, cmp.Ignore())

// admitted returns the number of successful calls before the first throttled one, and that one's error.
func admitted(t *testing.T, call func() error) (int, error) {
	t.Helper()
	for count := range 1000 {
		if err := call(); err != nil {
			return count, err
		}
	}
	t.Fatal("nothing was throttled")
	return 0, nil
}
