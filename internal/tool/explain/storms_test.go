package explain_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/explain"
	"github.com/hotshard/hotshard/pkg/throttle"
)

func TestMain(m *testing.M) { libtest.Main(m) }

const (
	orders = "orders"
	byCity = "by_city"
	arn    = "arn:aws:dynamodb:ddblocal:000000000000:table/" + orders
)

// storm is a table behind the limiter, and its callers.
type storm struct {
	*cloud
	limiter *throttle.Limiter
	now     time.Time
	db      *dynamodb.Client // throttled and counted
	reader  *dynamodb.Client // explain's own
	logs    map[string]*strings.Builder
	spread  []string // partition keys on different partitions
}

// capacity has the limits of a table and its index.
type capacity struct {
	o            throttle.Options
	table, index int64 // provisioned units, or the on-demand maximum; 0 for none
	provisioned  bool
}

func newStorm(t *testing.T, c capacity) *storm {
	t.Helper()
	s := &storm{cloud: newCloud(), now: enginetest.Later, logs: map[string]*strings.Builder{"boto3": {}, "js": {}, "go": {}}}
	c.o.Now = func() time.Time { return s.now }
	c.o.Base = dynamolocal.Transport()
	var err error
	if s.limiter, err = throttle.New(c.o); err != nil {
		t.Fatal(err)
	}
	key, endpoint := enginetest.Database(t), enginetest.Endpoint(t)
	client := func(transport http.RoundTripper) *dynamodb.Client {
		return dynamolocal.DynamoDB(endpoint, key, func(o *dynamodb.Options) {
			o.HTTPClient, o.Retryer = &http.Client{Transport: transport}, aws.NopRetryer{}
		})
	}
	s.db = client(meter{s.cloud, s.limiter, c.o.Now, s.logs})
	s.reader = client(dynamoDB{s.cloud, dynamolocal.Transport()})
	_, err = s.db.CreateTable(t.Context(), c.input())
	require.NoError(t, err)
	seen := map[int]bool{}
	for i := 0; len(s.spread) < 32; i++ {
		key := fmt.Sprint("key", i)
		if p := s.limiter.Partition(key); !seen[p] {
			seen[p] = true
			s.spread = append(s.spread, key)
		}
	}
	return s
}

func (c capacity) input() *dynamodb.CreateTableInput {
	define := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	key := func(hash, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange}}
	}
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(orders), BillingMode: types.BillingModePayPerRequest, KeySchema: key("customer", "order"),
		AttributeDefinitions: []types.AttributeDefinition{define("customer"), define("order"), define("city")},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(byCity), KeySchema: key("city", "order"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
	}
	x := &in.GlobalSecondaryIndexes[0]
	throughput := func(n int64) *types.ProvisionedThroughput {
		return &types.ProvisionedThroughput{ReadCapacityUnits: &n, WriteCapacityUnits: &n}
	}
	maximum := func(n int64) *types.OnDemandThroughput {
		return &types.OnDemandThroughput{MaxReadRequestUnits: &n, MaxWriteRequestUnits: &n}
	}
	switch {
	case c.provisioned:
		in.BillingMode, in.ProvisionedThroughput, x.ProvisionedThroughput = types.BillingModeProvisioned, throughput(c.table), throughput(c.index)
	case c.table > 0:
		in.OnDemandThroughput, x.OnDemandThroughput = maximum(c.table), maximum(c.index)
	}
	return in
}

// logOf returns a log with a text.
func logOf(text string) []explain.Log {
	return []explain.Log{{Name: "app.log", Text: strings.NewReader(text)}}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Requests ignore errors: these are throttles, which the meter counts.

func (s *storm) put(t *testing.T, customer, order, city string) {
	item := map[string]types.AttributeValue{"customer": text(customer), "order": text(order)}
	if city != "" {
		item["city"] = text(city)
	}
	_, _ = s.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(orders), Item: item})
}

func (s *storm) get(t *testing.T, customer string) {
	_, _ = s.db.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(orders), Key: map[string]types.AttributeValue{"customer": text(customer), "order": text("1")}, ConsistentRead: aws.Bool(true),
	})
}

func (s *storm) query(t *testing.T, city string) {
	_, _ = s.db.Query(t.Context(), &dynamodb.QueryInput{
		TableName: aws.String(orders), IndexName: aws.String(byCity), KeyConditionExpression: aws.String("city = :c"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":c": text(city)},
	})
}

const hot = "acme"

// requests make 40 requests that one limit throttles, by the reason or the reason without its cause.
var requests = map[string]func(*testing.T, *storm){
	"TableWrite": func(t *testing.T, s *storm) {
		for i := range 40 {
			s.put(t, hot, fmt.Sprint(i), "")
		}
	},
	"TableRead": func(t *testing.T, s *storm) {
		for range 40 {
			s.get(t, hot)
		}
	},
	"IndexWrite": func(t *testing.T, s *storm) {
		for i := range 40 {
			s.put(t, s.spread[i%30], fmt.Sprint(i), hot)
		}
	},
	// A write that moves an index entry costs the index two units and the table one.
	"IndexWriteAccountLimitExceeded": func(t *testing.T, s *storm) {
		for i := range 40 {
			s.put(t, s.spread[i%4], "1", fmt.Sprint("city", i))
		}
	},
	"IndexRead": func(t *testing.T, s *storm) {
		for range 40 {
			s.query(t, hot)
		}
	},
}

// stormOf returns a storm that is throttled for this reason only.
func stormOf(t *testing.T, reason explain.Reason) *storm {
	c := capacity{o: throttle.Options{Partitions: 256, PartitionWCU: 1000}}
	table, index := int64(1000), int64(1000)
	if reason.Index == "" {
		table = 6
	} else {
		index = 6
	}
	switch reason.Cause {
	case explain.KeyRange:
		c.o.PartitionWCU, c.o.PartitionRCU = 6, 6
	case explain.Provisioned:
		c.table, c.index, c.provisioned = table, index, true
	case explain.MaxOnDemand:
		c.table, c.index = table, index
	case explain.Account:
		c.o.TableQuota = 8
	}
	s := newStorm(t, c)
	call := requests[reason.String()]
	if call == nil {
		call = requests[strings.TrimSuffix(reason.String(), string(reason.Cause))]
	}
	call(t, s)
	return s
}

func (s *storm) options() explain.Options {
	return explain.Options{Name: orders, Tables: []string{orders}, From: s.now.Add(-10 * time.Minute), To: s.now.Add(5 * time.Minute)}
}

func (s *storm) explain(t *testing.T, sources explain.Sources) (explain.Report, []string) {
	t.Helper()
	sources.DynamoDB = s.reader
	r, err := explain.Run(t.Context(), sources, s.options())
	require.NoError(t, err)
	return r, r.Notes
}

// all returns the 16 reasons.
func all() (list []explain.Reason) {
	for _, index := range []string{"", byCity} {
		for _, op := range []explain.Operation{explain.Read, explain.Write} {
			for _, cause := range explain.Causes {
				list = append(list, explain.Reason{ID: explain.ID{Table: orders, Index: index}, Operation: op, Cause: cause})
			}
		}
	}
	return list
}

func resource(id explain.ID) string {
	if id.Index == "" {
		return arn
	}
	return arn + "/index/" + id.Index
}

// TestStorms checks that each source alone explains at least 95 % of storms of the 16 reasons, and none wrongly.
func TestStorms(t *testing.T) {
	right, total := 0, 0
	for _, label := range all() {
		s := stormOf(t, label)
		report := s.limiter.Report()
		proxy := func(context.Context) (explain.LimitedCalls, error) {
			return explain.LimiterEvidence(report, "the proxy"), nil
		}
		cases := map[string]explain.Sources{
			"CloudWatch": {CloudWatch: s.client(t)},
			"the proxy":  {Limiter: proxy},
			"both":       {CloudWatch: s.client(t), Limiter: proxy, Logs: logOf(s.logs["go"].String())},
		}
		for sdk, text := range s.logs {
			cases["a log of "+sdk] = explain.Sources{Logs: logOf(text.String())}
		}
		for source, sources := range cases {
			total++
			r, _ := s.explain(t, sources)
			ok := len(r.Findings) == 1 && r.Unknown == 0
			for _, f := range r.Findings {
				scope := map[bool]string{true: "table", false: "index"}[label.Index == ""]
				if label.Cause == explain.Account {
					scope = "account"
				}
				good := f.Reason == label.String() && f.Resource == resource(label.ID) && f.Operation == label.Operation && f.Scope == scope && f.Confidence == explain.Measured
				if ok = ok && good; !good {
					t.Errorf("%v by %s: wrong finding %+v", label, source, f)
				}
				if f.Cure == "" || len(f.Evidence) == 0 {
					t.Errorf("%v by %s: no cure or no evidence in %+v", label, source, f)
				}
			}
			if ok {
				right++
			} else {
				t.Logf("%v by %s: %d throttles, %+v, unknown %v", label, source, int(r.Throttles), r.Findings, r.Unknown)
			}
		}
	}
	if right*100 < 95*total {
		t.Errorf("%d of %d storms were explained, want 95 %%", right, total)
	}
}

// TestAllThrottlesOfProxyCount checks that throttles count whose keys the proxy doesn't list, and that the evidence tells
// how many those are.
func TestAllThrottlesOfProxyCount(t *testing.T) {
	s := newStorm(t, capacity{o: throttle.Options{Partitions: 256, PartitionWCU: 1, PartitionRCU: 1}})
	for i, puts := 0, 0; puts < 1+120; i++ { // of other keys on one partition; 1 is admitted
		if key := fmt.Sprint(i); s.limiter.Partition(key) == 0 {
			s.put(t, key, "1", "")
			puts++
		}
	}
	for range 2 + 3 { // an eventually consistent read costs half a unit
		s.query(t, "Rome")
	}
	read := func(context.Context) (explain.LimitedCalls, error) {
		return explain.LimiterEvidence(s.limiter.Report(), "the proxy"), nil
	}
	r, _ := s.explain(t, explain.Sources{Limiter: read})
	if r.Throttles != 120+3 || len(r.Findings) != 2 {
		t.Fatalf("%v throttles and findings %+v, want %d and 2", r.Throttles, r.Findings, 120+3)
	}
	want := "120 times TableWriteKeyRangeThroughputExceeded since it started or was reset, at least 99 of them on the keys that it lists"
	if got := r.Findings[0].Evidence[0].Text; got != want {
		t.Errorf("evidence %q, want %q", got, want)
	}
	o := s.options()
	o.Index = byCity
	if r, err := explain.Run(t.Context(), explain.Sources{DynamoDB: s.reader, Limiter: read}, o); err != nil || r.Throttles != 3 {
		t.Errorf("%v throttles of the index, %v; want 3", r.Throttles, err)
	}
}
