package throttle_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// namings are names of the same table: DynamoDB Local takes ARNs of any account and Region.
var namings = []string{tableName, tableARN, "arn:aws:dynamodb:eu-west-1:123456789012:table/" + tableName}

// namedCalls are calls that name the table %s and the item a/1.
var namedCalls = []struct{ operation, body string }{
	{"PutItem", `{"TableName":"%s","Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}`},
	{"UpdateItem", `{"TableName":"%s","Key":{"pk":{"S":"a"},"sk":{"S":"1"}},"UpdateExpression":"SET c = :c","ExpressionAttributeValues":{":c":{"N":"1"}}}`},
	{"DeleteItem", `{"TableName":"%s","Key":{"pk":{"S":"a"},"sk":{"S":"1"}}}`},
	{"BatchWriteItem", `{"RequestItems":{"%s":[{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}}]}}`},
	{"TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"%s","Key":{"pk":{"S":"a"},"sk":{"S":"1"}}}}]}`},
	{"GetItem", `{"TableName":"%s","ConsistentRead":true,"Key":{"pk":{"S":"a"},"sk":{"S":"1"}}}`},
	{"Query", `{"TableName":"%s","ConsistentRead":true,"KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`},
	{"Scan", `{"TableName":"%s","ConsistentRead":true}`},
	{"BatchGetItem", `{"RequestItems":{"%s":{"ConsistentRead":true,"Keys":[{"pk":{"S":"a"},"sk":{"S":"1"}}]}}}`},
	{"TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"%s","Key":{"pk":{"S":"a"},"sk":{"S":"1"}}}}]}`},
}

// TestNameAndARNShareLimits checks that a table has one state, by whichever name a call gives it.
func TestNameAndARNShareLimits(t *testing.T) {
	for _, call := range namedCalls {
		b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 1, PartitionRCU: 1})
		for _, use := range []int{0, 5} { // PutItem and GetItem
			if got := b.post(t, b.Limiter, namedCalls[use].operation, fmt.Sprintf(namedCalls[use].body, tableName)); !strings.HasPrefix(got, "200") {
				t.Fatal(got)
			}
		}
		for _, name := range namings {
			got := b.post(t, b.Limiter, call.operation, fmt.Sprintf(call.body, name))
			if !strings.Contains(got, "ProvisionedThroughputExceeded") && !strings.Contains(got, "ThrottlingError") {
				t.Errorf("%s of %s with another name's capacity: %.300s", call.operation, name, got)
			}
		}
		if tables := b.Report().Tables; len(tables) != 2 || tables[0].Table != tableName || tables[1].Index != byGroup {
			t.Errorf("%s: got %d tables and indexes, want one of each", call.operation, len(tables))
		}
	}
}

// TestChangesByARN checks that a change, a split and the counts of a table are found by any of its names.
func TestChangesByARN(t *testing.T) {
	for _, name := range namings {
		b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 1})
		put := func() string { return b.post(t, b.Limiter, "PutItem", fmt.Sprintf(namedCalls[0].body, tableName)) }
		put()
		if got := put(); !strings.Contains(got, "ProvisionedThroughputExceeded") {
			t.Fatal(got)
		}
		if got := b.post(t, b.Limiter, "UpdateTable", `{"TableName":"`+name+`"}`); !strings.HasPrefix(got, "400") || !strings.Contains(put(), "ProvisionedThroughputExceeded") {
			t.Errorf("a rejected change of %s reset the table, or was not rejected: %s", name, got)
		}
		if status, text, _ := b.control(t).call(t, "POST", "/_throttle/split", `{"table":"`+name+`"}`); status != http.StatusOK || b.Partitions(name) != 2 || len(b.Splits(name)) != 1 {
			t.Errorf("a split of %s: %d %s", name, status, text)
		}
		if got := b.ThrottledWrites(name, b.Now().Add(-time.Minute), b.Now().Add(time.Minute)); len(got) != 1 || got[0].Writes != 2 {
			t.Errorf("throttled writes of %s: %v", name, got)
		}
		if got := b.post(t, b.Limiter, "UpdateTable", `{"TableName":"`+name+`","BillingMode":"PAY_PER_REQUEST"}`); !strings.HasPrefix(got, "200") {
			t.Fatal(got)
		}
		if got := put(); !strings.HasPrefix(got, "200") {
			t.Errorf("after a change of %s: %s", name, got)
		}
	}
}

// TestMalformedARNs checks that calls with an ARN that names no table get the engine's own response.
func TestMalformedARNs(t *testing.T) {
	b := newBench(t, roomy)
	for _, name := range []string{"arn:" + tableName, tableARN + "/index/" + byGroup, "arn:aws:s3:eu-west-1:1:table/" + tableName, "arn:aws:dynamodb:::table/", "arn:aws:dynamodb:eu-west-1:1:table/absent", ":::::"} {
		for _, call := range append(namedCalls, struct{ operation, body string }{"UpdateTable", `{"TableName":"%s"}`}) {
			body := fmt.Sprintf(call.body, name)
			if got, want := b.post(t, b.Limiter, call.operation, body), b.post(t, b.plain, call.operation, body); got != want || !strings.HasPrefix(want, "400") {
				t.Errorf("%s of %s: got %s, want %s", call.operation, name, got, want)
			}
		}
	}
}

// renamed is an engine that has the table "orders" in two accounts, each with items of any key. It names tables in its
// responses as it likes.
type renamed struct {
	t        *rapid.T
	answered func(asked string) string // the name of a table in a response
	arns     bool                      // tables are described with their ARNs
	capacity bool                      // responses have ConsumedCapacity
	leaves   int                       // so many items of each batch stay unprocessed
}

const (
	ordersARN = "arn:aws:dynamodb:eu-west-1:111111111111:table/orders"
	othersARN = "arn:aws:dynamodb:eu-west-1:222222222222:table/orders"
)

func (e *renamed) RoundTrip(req *http.Request) (*http.Response, error) {
	var body struct {
		TableName    string
		RequestItems map[string]json.RawMessage
		Keys         json.RawMessage
	}
	require.NoError(e.t, json.NewDecoder(req.Body).Decode(&body))
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	answer := map[string]any{}
	switch operation {
	case "DescribeTable", "UpdateTable":
		answer[map[string]string{"DescribeTable": "Table", "UpdateTable": "TableDescription"}[operation]] = e.describe(body.TableName)
	case "BatchGetItem":
		e.batchGet(body.RequestItems, answer)
	case "BatchWriteItem":
		left := map[string][]json.RawMessage{}
		for name, text := range body.RequestItems {
			var writes []json.RawMessage
			require.NoError(e.t, json.Unmarshal(text, &writes))
			if e.leaves > 0 && len(writes) > e.leaves {
				left[e.answered(name)] = writes[:e.leaves]
			}
		}
		answer["UnprocessedItems"] = left
	}
	text, err := json.Marshal(answer)
	require.NoError(e.t, err)
	w := httptest.NewRecorder()
	_, _ = w.Write(text)
	return w.Result(), nil
}

func (e *renamed) describe(name string) map[string]any {
	described := map[string]any{
		"TableName":              e.answered(name),
		"KeySchema":              []any{map[string]any{"AttributeName": "id", "KeyType": "HASH"}},
		"BillingModeSummary":     map[string]any{"BillingMode": "PAY_PER_REQUEST"},
		"GlobalSecondaryIndexes": []any{map[string]any{"IndexName": "x", "KeySchema": []any{map[string]any{"AttributeName": "id", "KeyType": "HASH"}}}},
	}
	if e.arns {
		described["TableArn"] = ordersARN
		if name == othersARN {
			described["TableArn"] = othersARN
		}
	}
	return described
}

// batchGet answers each key with an item of 5,000 bytes. It leaves the first keys of a table unprocessed, but reads one.
func (e *renamed) batchGet(requests map[string]json.RawMessage, answer map[string]any) {
	responses, left, consumed := map[string][]any{}, map[string]any{}, []any{}
	for name, text := range requests {
		var request struct {
			Keys           []map[string]any
			ConsistentRead bool
		}
		require.NoError(e.t, json.Unmarshal(text, &request))
		skip := min(e.leaves, len(request.Keys)-1)
		for _, key := range request.Keys[skip:] {
			item := maps.Clone(key)
			item["data"] = map[string]any{"S": strings.Repeat("x", 5000)}
			responses[e.answered(name)] = append(responses[e.answered(name)], item)
		}
		if skip > 0 {
			left[e.answered(name)] = map[string]any{"Keys": request.Keys[:skip], "ConsistentRead": request.ConsistentRead}
		}
		consumed = append(consumed, map[string]any{"TableName": e.answered(name), "CapacityUnits": 2 * (len(request.Keys) - skip)})
	}
	answer["Responses"], answer["UnprocessedKeys"] = responses, left
	if e.capacity {
		answer["ConsumedCapacity"] = consumed
	}
}

// TestNamesChangeNothing checks that calls cost the same, and leave the same items unprocessed, by whichever names the
// caller and the engine give a table. Another account's table has limits of its own if the engine describes its ARN.
func TestNamesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bare := func(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
		answered := rapid.SampledFrom([]func(string) string{bare, func(name string) string { return name }, func(name string) string {
			if bare(name) == name {
				return ordersARN
			}
			return bare(name)
		}}).Draw(t, "answered")
		leaves := rapid.IntRange(0, 2).Draw(t, "leaves")
		now := func() time.Time { return time.Unix(1_800_000_000, 0) }
		options := throttle.Options{Partitions: 2, PartitionWCU: 20, PartitionRCU: 40, Now: now}
		capacity := rapid.Bool().Draw(t, "capacity")
		arns := rapid.Bool().Draw(t, "arns")
		options.Base = &renamed{t, bare, arns, capacity, leaves}
		want, err := throttle.New(options)
		require.NoError(t, err)
		options.Base = &renamed{t, answered, arns, capacity, leaves}
		got, err := throttle.New(options)
		require.NoError(t, err)
		for range 30 {
			operation := rapid.SampledFrom([]string{"PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query", "Scan", "BatchWriteItem", "BatchGetItem", "TransactWriteItems", "TransactGetItems", "UpdateTable"}).Draw(t, "operation")
			body := namedBody(t, operation)
			names := rapid.SampledFrom([][]string{{"orders"}, {ordersARN}, {ordersARN, "orders"}}).Draw(t, "names")
			a, b := sendNamed(t, want, operation, body, "orders"), sendNamed(t, got, operation, body, names...)
			if normalNames(a) != normalNames(b) {
				t.Fatalf("%s of %v: %s, but %s of orders", operation, names, b, a)
			}
		}
		a, b := want.Stats(), got.Stats()
		if normalNames(fmt.Sprintf("%+v", a)) != normalNames(fmt.Sprintf("%+v", b)) {
			t.Errorf("names cost %+v\nARNs and names %+v", a, b)
		}
		if n := len(got.Report().Tables); n > 2 {
			t.Errorf("%d tables and indexes, want 2", n)
		}
		sendNamed(t, got, "PutItem", namedBody(t, "PutItem"), othersARN)
		sendNamed(t, got, "PutItem", namedBody(t, "PutItem"), "orders")
		if n := len(got.Report().Tables); arns && n != 4 || !arns && n != 2 {
			t.Errorf("%d tables and indexes after a call for the other account's table, whose ARN is described: %v", n, arns)
		}
	})
}

// TestAccountsInOneBatch checks that items of two accounts' tables of one name cost by their own size: 5 WCU, and 1 in the index.
func TestAccountsInOneBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bare := func(string) string { return "orders" }
		answered := rapid.SampledFrom([]func(string) string{bare, func(name string) string { return name }}).Draw(t, "answered")
		l, err := throttle.New(throttle.Options{Partitions: 1, PartitionWCU: 5, Base: &renamed{t: t, answered: answered, arns: true}})
		require.NoError(t, err)
		remove := `[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}]`
		if got := sendNamed(t, l, "BatchWriteItem", `{"RequestItems":{"%s":`+remove+`,"%s":`+remove+`}}`, ordersARN, othersARN); !strings.HasPrefix(got, "200") {
			t.Fatal(got)
		}
		if s, tables := l.Stats(), l.Report().Tables; s.Operations[0].WriteUnits != 12 || len(tables) != 4 {
			t.Errorf("deleting two items of 5,000 bytes cost %+v in %d tables and indexes", s.Operations, len(tables))
		}
	})
}

// namedBody returns a body that names the table as %s.
func namedBody(t *rapid.T, operation string) string {
	keys := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 1, 6, rapid.ID[int]).Draw(t, "keys")
	each := func(form string) string {
		texts := make([]string, len(keys))
		for i, k := range keys {
			texts[i] = strings.ReplaceAll(form, "KEY", fmt.Sprintf(`{"id":{"S":"k%d"}}`, k))
		}
		return strings.Join(texts, ",")
	}
	key := fmt.Sprintf(`{"id":{"S":"k%d"}}`, keys[0])
	projection := rapid.SampledFrom([]string{"", `,"ProjectionExpression":"id"`}).Draw(t, "projection")
	switch operation {
	case "PutItem":
		return `{"TableName":"%s","Item":` + key + `}`
	case "BatchWriteItem":
		return `{"RequestItems":{"%s":[` + each(`{"PutRequest":{"Item":KEY}}`) + `]}}`
	case "BatchGetItem":
		return `{"RequestItems":{"%s":{"Keys":[` + each("KEY") + `]` + projection + `}}}`
	case "TransactWriteItems":
		return `{"TransactItems":[` + each(`{"Delete":{"TableName":"%s","Key":KEY}}`) + `]}`
	case "TransactGetItems":
		return `{"TransactItems":[` + each(`{"Get":{"TableName":"%s","Key":KEY}}`) + `]}`
	case "Scan", "UpdateTable":
		return `{"TableName":"%s"}`
	}
	return `{"TableName":"%s","Key":` + key + `}`
}

// sendNamed sends a request that names the table by these names in turn, and returns the response as text.
func sendNamed(t *rapid.T, l *throttle.Limiter, operation, body string, names ...string) string {
	for i := 0; strings.Contains(body, "%s"); i++ {
		body = strings.Replace(body, "%s", names[i%len(names)], 1)
	}
	req := httptest.NewRequest("POST", "http://engine/", strings.NewReader(body))
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	resp, err := l.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.Status + " " + string(text)
}

// normalNames replaces ARNs by names, and sorts the text's characters: members of objects have no order.
func normalNames(text string) string {
	text = strings.NewReplacer(ordersARN, "orders", othersARN, "orders").Replace(text)
	return string(slices.Sorted(slices.Values([]byte(text))))
}
