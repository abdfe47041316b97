package throttle

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// TestOptionsBounds checks each option at its bounds and beyond, and its default.
func TestOptionsBounds(t *testing.T) {
	good := Options{Partitions: 1, PartitionWCU: 1}
	for name, c := range map[string]struct {
		set  func(*Options, int)
		good []int
		bad  []int
	}{
		"partitions": {func(o *Options, n int) { o.Partitions = n }, []int{1, 10_000}, []int{0, 10_001}},
		"WCU":        {func(o *Options, n int) { o.PartitionWCU = n }, []int{1, 100_000}, []int{0, 100_001}},
		"RCU":        {func(o *Options, n int) { o.PartitionRCU = n }, []int{0, 1, 300_000}, []int{-1, 300_001}},
		"table":      {func(o *Options, n int) { o.TableWCU = n }, []int{0, 1_000_000}, []int{-1, 1_000_001}},
		"quota":      {func(o *Options, n int) { o.TableQuota = n }, []int{0, 1, 1_000_000}, []int{-1, 1_000_001}},
		"burst":      {func(o *Options, n int) { o.Burst = time.Duration(n) * time.Millisecond }, []int{0, 1, 3_600_000}, []int{-1, 3_600_001}},
		"split":      {func(o *Options, n int) { o.SplitAfter = time.Duration(n) * time.Second }, []int{0, 86_400}, []int{-1, 86_401}},
		"hold":       {func(o *Options, n int) { o.TransactionHold = time.Duration(n) * time.Millisecond }, []int{0, 1000}, []int{-1, 1001}},
	} {
		for i, n := range append(slices.Clone(c.good), c.bad...) {
			o := good
			c.set(&o, n)
			if err := o.Validate(); (err == nil) != (i < len(c.good)) {
				t.Errorf("%s of %d: %v", name, n, err)
			}
		}
	}
	if _, err := New(Options{}); err == nil {
		t.Error("no partitions and no units: no error")
	}
	o := good.withDefaults()
	if o.PartitionRCU != 3 || o.TableQuota != 40_000 || o.Burst != time.Second || o.Now == nil || o.Sleep == nil || o.Base != http.DefaultTransport {
		t.Errorf("defaults: %+v", o)
	}
}

// TestUnits checks the cost of items by their sizes, and the least cost of a read.
func TestUnits(t *testing.T) {
	for _, c := range []struct{ size, block, want int }{{0, 1024, 1}, {1, 1024, 1}, {1024, 1024, 1}, {1025, 1024, 2}, {4096, 4096, 1}, {4097, 4096, 2}, {409_600, 1024, 400}} {
		if got := unitsFor(c.size, c.block); got != partitions.Units(c.want)*partitions.Unit {
			t.Errorf("%d bytes in blocks of %d: %v", c.size, c.block, got.Float())
		}
	}
	if leastRead(true).Float() != 1 || leastRead(false).Float() != 0.5 {
		t.Error("the least cost of a read is wrong")
	}
}

// charges returns charges of these units.
func charges(units ...float64) (list []partitions.Charge) {
	for _, u := range units {
		list = append(list, partitions.Charge{Units: partitions.ToUnits(u)})
	}
	return list
}

// unitsOf returns the charges' units as a text.
func unitsOf(list []partitions.Charge) string {
	var texts []string
	for _, c := range list {
		texts = append(texts, fmt.Sprint(c.Units.Float()))
	}
	return strings.Join(texts, " ")
}

// TestSpread checks how the capacity that the engine reports is distributed.
func TestSpread(t *testing.T) {
	for _, c := range []struct {
		costs   []float64
		surplus float64
		want    string
	}{
		{[]float64{0.5}, 0, "0.5"}, {[]float64{0.5}, -1, "0.5"}, {[]float64{0.5}, 0.4, "0.5"}, {[]float64{0.5}, 1.5, "2"},
		{[]float64{1, 1, 1}, 1, "2 1 1"}, {[]float64{1, 1, 1}, 5, "3 3 2"}, {[]float64{2, 2}, 4, "4 4"}, {[]float64{2, 2}, 2, "4 2"},
	} {
		if got := unitsOf(spreadSurplus(charges(c.costs...), partitions.Units(c.surplus*float64(partitions.Unit)))); got != c.want {
			t.Errorf("a surplus of %v over %v: %s, want %s", c.surplus, c.costs, got, c.want)
		}
	}
}

// TestThroughput checks the limits of a whole table or index by its description and the options.
func TestThroughput(t *testing.T) {
	described := func(read, write, maxRead, maxWrite int) (d throughput) {
		d.ProvisionedThroughput.ReadCapacityUnits, d.ProvisionedThroughput.WriteCapacityUnits = read, write
		d.OnDemandThroughput.MaxReadRequestUnits, d.OnDemandThroughput.MaxWriteRequestUnits = maxRead, maxWrite
		return d
	}
	o := Options{Burst: time.Minute, TableQuota: 7}
	for _, c := range []struct {
		described     throughput
		onDemand      bool
		reads, writes partitions.Limit
	}{
		{described(5, 6, 1, 1), false, partitions.Limit{Cause: partitions.Provisioned, PerSecond: 5, Burst: time.Minute}, partitions.Limit{Cause: partitions.Provisioned, PerSecond: 6, Burst: time.Minute}},
		{described(-1, 1_000_001, 0, 0), false, partitions.Limit{Cause: partitions.Provisioned, Burst: time.Minute}, partitions.Limit{Cause: partitions.Provisioned, PerSecond: 1_000_000, Burst: time.Minute}},
		{described(5, 6, 0, -1), true, partitions.Limit{Cause: partitions.Account, PerSecond: 7}, partitions.Limit{Cause: partitions.Account, PerSecond: 7}},
		{described(5, 6, 1, 1_000_001), true, partitions.Limit{Cause: partitions.MaxOnDemand, PerSecond: 1}, partitions.Limit{Cause: partitions.MaxOnDemand, PerSecond: 1_000_000}},
	} {
		if got := c.described.limits(o, c.onDemand); got.Reads != c.reads || got.Writes != c.writes {
			t.Errorf("%+v, on demand %t: %+v", c.described, c.onDemand, got)
		}
	}
}

// describe returns a table with the key id and a global index by g and r.
func describe(t *testing.T, o Options, billing string) *table {
	t.Helper()
	var d description
	if !decode([]byte(`{"Table":{"TableName":"t","BillingModeSummary":{"BillingMode":"`+billing+`"},"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
		"ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":5},"GlobalSecondaryIndexes":[{"IndexName":"i","Projection":{"ProjectionType":"ALL"},
		"KeySchema":[{"AttributeName":"g","KeyType":"HASH"},{"AttributeName":"r","KeyType":"RANGE"}]}]}}`), &d) {
		t.Fatal("the description is malformed")
	}
	l, err := New(o)
	require.NoError(t, err)
	return newTable(l.gate, l.options, "db", d)
}

// TestTableWCU checks that the option replaces the table's write capacity, whatever its billing.
func TestTableWCU(t *testing.T) {
	for billing, want := range map[string][2]int64{"PROVISIONED": {5, 9}, "PAY_PER_REQUEST": {40_000, 9}} {
		state := describe(t, Options{Partitions: 1, PartitionWCU: 1, TableWCU: 9}, billing).State()
		if state.Reads.Limit != want[0] || state.Writes.Limit != want[1] {
			t.Errorf("%s: %d reads and %d writes", billing, state.Reads.Limit, state.Writes.Limit)
		}
	}
}

// TestMeasuredUpdates checks where the capacity is charged that the engine reports of an update.
func TestMeasuredUpdates(t *testing.T) {
	of := describe(t, Options{Partitions: 2, PartitionWCU: 1}, "PAY_PER_REQUEST")
	for _, c := range []struct {
		attributes, after string
		total             float64
		want              string
	}{
		{`{"id":{"S":"a"},"g":{"S":"y"},"r":{"S":"1"}}`, `null`, 2, " 3 y 2 "}, {`{"id":{"S":"a"},"g":{"S":"y"},"r":{"S":"1"}}`, `null`, 0, " 3 "},
		{`{"id":{"S":"a"},"g":{"S":"y"}}`, `null`, 2, " 3 "}, {`null`, `null`, 0, " 3 "},
		{`null`, `{"id":{"S":"a"},"g":{"S":"y"},"r":{"S":"1"}}`, 2, " 3 y 2 "}, {`null`, `{"id":{"S":"a"},"g":{"S":"y"}}`, 2, " 3 "},
	} {
		s := &singleWrite{write: &write{item: item{table: of, place: of.Place("")}, kind: update}}
		if !decode([]byte(c.attributes), &s.before) || !decode([]byte(c.after), &s.after) {
			t.Fatal(c.attributes)
		}
		answer := fmt.Sprintf(`{"ConsumedCapacity":{"Table":{"CapacityUnits":3},"GlobalSecondaryIndexes":{"i":{"CapacityUnits":%v}}}}`, c.total)
		r, err := readReply(&http.Response{StatusCode: 200, ContentLength: -1, Body: io.NopCloser(strings.NewReader(answer))})
		require.NoError(t, err)
		got := ""
		for _, charge := range s.reportedCharges(r, nil) {
			got += fmt.Sprint(charge.Key, " ", charge.Units.Float(), " ")
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestRenamedTables checks where requests and responses name tables. A map by tables can't have one name twice.
func TestRenamedTables(t *testing.T) {
	for text, want := range map[string]string{
		`{"TableName":"abc","Item":{"TableName":"abc"}}`:            `{"Item":{"TableName":"abc"},"TableName":"ABC"}`,
		`{"TableName":7,"TransactItems":7,"Responses":[{"abc":1}]}`: `{"TableName":7,"TransactItems":7,"Responses":[{"abc":1}]}`,
		`{"RequestItems":{"abc":1,"def":2}}`:                        `{"RequestItems":{"ABC":1,"DEF":2}}`,
		`{"UnprocessedKeys":{"abc":1,"ABC":2}}`:                     "",
		`{"TransactItems":[{"Put":{"TableName":"abc"}},{}]}`:        `{"TransactItems":[{"Put":{"TableName":"ABC"}},{}]}`,
		`{"ConsumedCapacity":{"TableName":"abc"}}`:                  `{"ConsumedCapacity":{"TableName":"ABC"}}`,
		`{"Statement":"SELECT x FROM \"abc\" WHERE y = '\"abc\"'"}`: `{"Statement":"SELECT x FROM \"ABC\" WHERE y = '\"abc\"'"}`,
		`[]`: "",
	} {
		got, ok := renameTables([]byte(text), strings.ToUpper)
		if ok != (want != "") || string(got) != cmp.Or(want, text) {
			t.Errorf("%s: %s, %t", text, got, ok)
		}
	}
	n := &renaming{}
	n.toName("arn:aws:sqs:x:1:t")
	if name := n.toName("t"); name != "t" || n.malformed == nil {
		t.Errorf("a name after no table's ARN: %s, %v", name, n.malformed)
	}
}

// TestFetchInRounds checks that keys that the engine leaves unprocessed are read again, in at most 100 rounds.
func TestFetchInRounds(t *testing.T) {
	of := describe(t, Options{Partitions: 1, PartitionWCU: 1}, "PAY_PER_REQUEST")
	var writes []*write
	for i := range maxFetch {
		key := dynamo.Item{"id": dynamo.String(fmt.Sprint(i))}
		primaryKey, _ := of.key.primaryKey(key)
		writes = append(writes, &write{item: item{table: of, name: "t", primaryKey: primaryKey}, key: key})
	}
	for read, want := range map[int]int{1: 100, 3: 34, 97: 2, 100: 1, 0: 100} {
		rounds := 0
		c := &call{req: httptest.NewRequestWithContext(t.Context(), "POST", "http://engine/", nil), l: limiterOf(func(r *http.Request) (*http.Response, error) {
			rounds++
			var in struct{ RequestItems map[string]fetchKeys }
			if text, err := io.ReadAll(r.Body); err != nil || !decode(text, &in) || !in.RequestItems["t"].ConsistentRead {
				t.Errorf("round %d: %s, %v", rounds, text, err)
			}
			keys := in.RequestItems["t"].Keys
			n := min(read, len(keys))
			text := encode(map[string]any{"Responses": map[string]any{"t": keys[:n]}, "UnprocessedKeys": map[string]fetchKeys{"t": {true, keys[n:]}}})
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(text))}, nil
		})}
		if found, err := c.fetch(append(writes, writes...)...); rounds != want || (err != nil) != (read == 0) || err == nil && len(found) != maxFetch {
			t.Errorf("%d keys a round: %d items after %d rounds, %v", read, len(found), rounds, err)
		}
	}
}

// TestCachedTables checks that the cached tables are bounded.
func TestCachedTables(t *testing.T) {
	cached := tables{}
	for i := range 2 * maxTables {
		added := &table{}
		cached.add(fmt.Sprint("t", i), added)
		if len(cached) > maxTables || cached[fmt.Sprint("t", i)] != added {
			t.Fatalf("%d tables after %d", len(cached), i+1)
		}
	}
}

// TestCapacityOfRequestAndResponse checks what the limiter asks the engine for, and what the caller then gets, by what
// it asked for.
func TestCapacityOfRequestAndResponse(t *testing.T) {
	const full = `{"ConsumedCapacity":{"TableName":"t","CapacityUnits":2,"Table":{"CapacityUnits":2}}}`
	for _, c := range []struct {
		asked, wanted string
		request       string // "" for unchanged
		response      string
	}{
		{"", "", "", full}, {"TOTAL", "", "", full},
		{"", "TOTAL", `"TOTAL"`, `{}`}, {"NONE", "INDEXES", `"INDEXES"`, `{}`},
		{"TOTAL", "TOTAL", "", full}, {"INDEXES", "TOTAL", "", full}, {"INDEXES", "INDEXES", "", full}, {"other", "INDEXES", "", full},
		{"TOTAL", "INDEXES", `"INDEXES"`, `{"ConsumedCapacity":{"TableName":"t","CapacityUnits":2}}`},
	} {
		report, changed := capacityReport{c.asked, c.wanted}, object{}
		report.requestIn(changed)
		if got := string(changed["ReturnConsumedCapacity"]); got != c.request {
			t.Errorf("%+v: the request has %s", c, got)
		}
		d, _ := newDocument([]byte(full))
		r := &reply{&http.Response{StatusCode: http.StatusOK, Header: http.Header{}}, d, object{}}
		resp, err := r.response(report)
		require.NoError(t, err)
		if got, _ := io.ReadAll(resp.Body); string(got) != c.response {
			t.Errorf("%+v: the response is %s", c, got)
		}
	}
	d, _ := newDocument([]byte(`{"ConsumedCapacity":7}`))
	if err := (capacityReport{totalCapacity, indexesCapacity}).hideUnasked(&reply{document: d, changed: object{}}); err == nil {
		t.Error("a number is a capacity")
	}
	if err := (capacityReport{totalCapacity, indexesCapacity}).hideUnasked(&reply{changed: object{}}); err != nil {
		t.Error(err)
	}
}

// denialOf returns a throttled write of a key.
func denialOf(table, index, key string) partitions.Denial {
	place := partitions.Place{Space: &partitions.Space{Resource: partitions.Resource{Table: table, Index: index}}, Key: key}
	return partitions.Denial{Charge: partitions.Charge{Place: place, Write: true}, Cause: partitions.KeyRange}
}

// TestThrottledWritesOfAnHour checks for how long a throttled write is kept, and since when writes are known.
func TestThrottledWritesOfAnHour(t *testing.T) {
	const start = 1_800_000_000
	now := time.Unix(start, 0)
	l, err := New(Options{Partitions: 1, PartitionWCU: 1, Now: func() time.Time { return now }})
	require.NoError(t, err)
	l.history.countWrite(start+17, denialOf("t", "", "a"))
	for _, c := range []struct {
		age, since int64 // seconds after the start
		kept       bool
	}{{16, 0, false}, {17, 0, true}, {3599, 0, true}, {3600, 1, true}, {3600 + 16, 17, true}, {3600 + 17, 18, false}, {9999, 6400, false}} {
		now = time.Unix(start+c.age, 0)
		slots := l.ThrottledWrites("t", time.Unix(0, 0), now.Add(time.Hour))
		if got := l.Since().Unix() - start; got != c.since || (len(slots) == 1) != c.kept || c.kept && slots[0].Start.Unix() != start+17 {
			t.Errorf("after %d s: known since %d s, %+v", c.age, got, slots)
		}
	}
}

// TestSlotsOfThrottledWrites checks the range, the order and the bounds of slots and their keys.
func TestSlotsOfThrottledWrites(t *testing.T) {
	const start = 1_800_000_000
	h := newHistory(time.Unix(start, 0))
	for _, w := range []struct {
		at         int64
		index, key string
	}{{1, "", "b"}, {0, "", "a"}, {1, "i", "a"}, {1, "", "b"}, {1, "", "a"}, {2, "", "c"}} {
		h.countWrite(start+w.at, denialOf("t", w.index, w.key))
	}
	h.countWrite(start+1, denialOf("other", "", "x"))
	for _, c := range []struct {
		from, to int64
		want     string
	}{{0, 2, "0 1 [{ a 1}] 1 4 [{ b 2} { a 1} {i a 1}] "}, {1, 3, "1 4 [{ b 2} { a 1} {i a 1}] 2 1 [{ c 1}] "}, {3, 9, ""}} {
		got := ""
		for _, w := range h.writes("t", time.Unix(start+c.from, 0), time.Unix(start+c.to, 0), start+3) {
			got += fmt.Sprint(w.Start.Unix()-start, w.Writes, w.Keys) + " "
		}
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	h.countWrite(start+maxSeconds, denialOf("t", "", "new")) // replaces the first slot
	h.countWrite(start, denialOf("t", "", "late"))
	if got := h.writes("t", time.Unix(start, 0), time.Unix(start+2*maxSeconds, 0), start+maxSeconds); len(got) != 3 || got[2].Writes != 1 || got[2].Keys[0].Key != "new" {
		t.Errorf("after the clock went back: %+v", got)
	}
	many := func() slot { return slot{tables: map[string]int64{}, keys: map[keyName]int64{}} }
	five, six := many(), many()
	for i := range 2 * maxSlotKeys {
		five.add(keyName{"t", "", fmt.Sprint(i)})
		five.add(keyName{fmt.Sprint("t", i%100), "", "k"})
		six.add(keyName{"t", "", strings.Repeat("x", 1000) + fmt.Sprint(i)})
	}
	if len(five.keys) != maxSlotKeys || len(five.tables) != maxSlotTables || five.tables["t"] != 2*maxSlotKeys || six.tables["t"] != 2*maxSlotKeys || six.bytes > maxSlotBytes || six.bytes < maxSlotBytes-1003 {
		t.Errorf("%d keys of %d tables, %d bytes", len(five.keys), len(five.tables), six.bytes)
	}
}

// TestDatabase checks which requests are for one database.
func TestDatabase(t *testing.T) {
	for authorization, want := range map[string]string{
		"AWS4-HMAC-SHA256 Credential=key/20260101/eu-west-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0": "engine\x00key\x00eu-west-1",
		"AWS4-HMAC-SHA256 Credential=key": "engine\x00key\x00", "": "engine\x00\x00",
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://engine/", nil)
		req.Header.Set("Authorization", authorization)
		if got := (&call{req: req}).database(); got != want {
			t.Errorf("%q: %q", authorization, got)
		}
	}
}

// TestEngineRequest checks the headers of a request with another body.
func TestEngineRequest(t *testing.T) {
	in := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://engine/", strings.NewReader("read before"))
	in.Header = http.Header{"Content-Length": {"999"}, "Authorization": {"x"}, "X-Amz-Target": {"other"}}
	var sent *http.Request
	e := &call{l: limiterOf(func(r *http.Request) (*http.Response, error) {
		sent = r
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	}), req: in}
	if _, err := e.askEngine("DescribeTable", map[string]string{"TableName": "t"}); err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(sent.Body)
	if string(body) != `{"TableName":"t"}` || sent.ContentLength != int64(len(body)) || fmt.Sprint(sent.Header) != "map[Accept-Encoding:[identity] Authorization:[x] X-Amz-Target:[DynamoDB_20120810.DescribeTable]]" {
		t.Errorf("%s with %v", body, sent.Header)
	}
	if in.Header.Get("X-Amz-Target") != "other" || len(in.Header) != 3 {
		t.Errorf("the caller's headers became %v", in.Header)
	}
	if none := e.request("ListTables", nil); none.Body != http.NoBody || none.ContentLength != 0 {
		t.Errorf("no body: %v, %d", none.Body, none.ContentLength)
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func limiterOf(engine roundTripFunc) *Limiter { return &Limiter{options: Options{Base: engine}} }

// TestOrderOfTables checks the order of tables and indexes in a report, and their limits.
func TestOrderOfTables(t *testing.T) {
	l, err := New(Options{Partitions: 1, PartitionWCU: 1})
	require.NoError(t, err)
	add := func(database, name, arn string, limit int, indexes ...string) {
		whole := partitions.Throughput{Reads: partitions.Limit{Cause: partitions.Provisioned, PerSecond: limit}, Writes: partitions.Limit{Cause: partitions.Account, PerSecond: 2 * limit}}
		of := &table{Space: l.gate.NewSpace(partitions.Resource{Table: name, ARN: arn}, whole), database: "host\x00" + database + "\x00region"}
		for _, index := range indexes {
			of.globalIndexes = append(of.globalIndexes, l.gate.NewSpace(partitions.Resource{Table: name, Index: index, ARN: arn + "/" + index}, whole))
		}
		l.tables.add(database+name, of)
	}
	add("k2", "b", "1", 0)
	add("k1", "b", "3", 5, "y", "x")
	add("k3", "a", "1", 0)
	var texts []string
	for _, r := range l.Report().Tables {
		texts = append(texts, fmt.Sprint(r.Table, " ", r.AccessKey, " ", r.Region, " ", r.ARN, " ", r.Index, " ", r.RCU, " ", r.WCU, " ", len(r.Partitions)))
	}
	want := []string{"a k3 region 1  0 0 1", "b k1 region 3  5 10 2", "b k1 region 3/x x 5 10 2", "b k1 region 3/y y 5 10 2", "b k2 region 1  0 0 1"}
	if !slices.Equal(texts, want) {
		t.Errorf("%q", texts)
	}
}

// TestEqualsOfQueries checks which attributes a query requires to equal a value, in both forms of conditions.
func TestEqualsOfQueries(t *testing.T) {
	for body, want := range map[string]string{
		`{"KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`:                                        "a",
		`{"KeyConditionExpression":"#p = :p","ExpressionAttributeNames":{"#p":"pk"},"ExpressionAttributeValues":{":p":{"S":"a"}}}`: "a",
		`{"KeyConditionExpression":"other = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`:                                     "",
		`{"KeyConditions":{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"a"}]}}}`:                                    "a",
		`{"KeyConditions":{"pk":{"ComparisonOperator":"LE","AttributeValueList":[{"S":"a"}]}}}`:                                    "",
		`{"KeyConditions":{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"a"},{"S":"b"}]}}}`:                          "",
		`{"KeyConditions":{"other":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"a"}]}}}`:                                 "",
		`{}`: "",
	} {
		var in readRequest
		if !decode([]byte(body), &in) {
			t.Fatal(body)
		}
		both := in.requiredValues([]string{"sk", "pk"})
		if got, ok := both.Key("pk"); string(got) != want || ok != (want != "") || len(both) > 1 {
			t.Errorf("%s: %q, %t", body, got, ok)
		}
	}
}

// TestOwnErrors checks the form of the proxy's own errors.
func TestOwnErrors(t *testing.T) {
	w := httptest.NewRecorder()
	writeError(w, http.StatusNotFound, "ResourceNotFoundException", "none")
	if w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != "application/x-amz-json-1.0" || !strings.Contains(w.Body.String(), `"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"`) || !strings.Contains(w.Body.String(), `"message":"none"`) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	w = httptest.NewRecorder()
	l, err := New(Options{Partitions: 1, PartitionWCU: 1, Base: roundTripFunc(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusTeapot, Header: http.Header{"X-Amz-Crc32": {"1"}, "Connection": {"X-One"}, "X-One": {"1"}}, Body: io.NopCloser(strings.NewReader("body"))}, nil
	})})
	require.NoError(t, err)
	l.Proxy(&url.URL{Scheme: "http", Host: "engine"}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://proxy/", nil))
	if w.Code != http.StatusTeapot || fmt.Sprint(w.Header()) != "map[X-Amz-Crc32:[1]]" || w.Body.String() != "body" {
		t.Errorf("the engine's response became %d %v %s", w.Code, w.Header(), w.Body)
	}
	w = httptest.NewRecorder()
	writeJSON(w, []int{1})
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "no-store" || w.Body.String() != "[1]\n" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

// TestReply checks the exception of a response, and what is read of a body.
func TestReply(t *testing.T) {
	for _, c := range []struct {
		status          int
		text, exception string
	}{
		{200, `{"__type":"a#B"}`, ""}, {400, `{"__type":"a#B"}`, "B"}, {400, `{"__type":"B"}`, "B"}, {500, `nonsense`, "unknown"}, {400, `{}`, "unknown"},
	} {
		r, err := readReply(&http.Response{StatusCode: c.status, ContentLength: -1, Body: io.NopCloser(strings.NewReader(c.text))})
		if err != nil || r.exception() != c.exception {
			t.Errorf("%d %s: %q, %v", c.status, c.text, r.exception(), err)
		}
	}
	for _, c := range []struct {
		size, limit int64
		want        string
		fails       bool
	}{{5, 10, "", true}, {4, 10, "text", false}, {3, 10, "tex", false}, {0, 10, "text", false}, {-1, 3, "tex", false}, {4, 4, "text", false}, {4, 3, "tex", false}} {
		got, err := readAll(strings.NewReader("text"), c.size, c.limit)
		if (err != nil) != c.fails || err == nil && string(got) != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// TestStatsAreBounded checks that tables beyond the bound share their counters, and that totals are in order.
func TestStatsAreBounded(t *testing.T) {
	c := newCounts(time.Unix(0, 0))
	for i := range maxSpaces + 10 {
		c.countDenials([]partitions.Denial{denialOf(fmt.Sprintf("t%05d", i), "", "k")}, time.Unix(int64(i), 0))
	}
	totals := c.totals()
	if len(c.spaces) != maxSpaces+1 || len(totals) != maxSpaces+1 || totals[0].Table != "" || totals[0].Count != 10 || totals[1].Table != "t00000" || totals[1].Count != 1 {
		t.Errorf("%d tables, totals %+v", len(c.spaces), totals[:2])
	}
	l, err := New(Options{Partitions: 1, PartitionWCU: 1})
	require.NoError(t, err)
	l.stats.countDenials([]partitions.Denial{denialOf("b", "", "k"), denialOf("a", "z", "k"), denialOf("a", "", "k"), denialOf("a", "x", "k")}, time.Unix(7, 0))
	var order []string
	for _, s := range l.Stats().Spaces {
		order = append(order, s.Table+"/"+s.Index)
	}
	if got := strings.Join(order, " "); got != "a/ a/x a/z b/" {
		t.Error(got)
	}
	c = newCounts(time.Unix(0, 0))
	c.countDenials([]partitions.Denial{denialOf("b", "", "k"), denialOf("a", "y", "k"), denialOf("a", "x", "k"), denialOf("a", "x", "k")}, time.Unix(7, 0))
	c.countDenials([]partitions.Denial{denialOf("a", "x", "k")}, time.Unix(9, 0))
	if got := fmt.Sprint(c.totals()); got != "[{IndexWriteKeyRangeThroughputExceeded a x 3 1.5 2} {IndexWriteKeyRangeThroughputExceeded a y 1 0.5 1} {TableWriteKeyRangeThroughputExceeded b  1 0.5 1}]" {
		t.Error(got)
	}
}
