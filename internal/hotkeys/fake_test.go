package hotkeys_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

var start = time.Date(2026, 1, 5, 13, 0, 0, 0, time.UTC)

// fakeTable is a heat table in memory.
type fakeTable struct {
	mu    sync.Mutex
	items map[string]dynamo.Item
	byPK  map[string][]string // sorted keys of items, by partition key
	puts  int

	folded map[string]dynamo.Item // items whose partition key begins with H#
	fail   func(put int) error    // the result of the nth put

	failQuery error
	calls     int // of Query and PutItem
	failFrom  int // the first of them that fails; 0 for none
}

func (f *fakeTable) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.puts++
	if f.isDown() {
		return nil, errPut
	}
	if f.fail != nil {
		if err := f.fail(f.puts); err != nil {
			return nil, err
		}
	}
	if *in.TableName != "heat" {
		return nil, fmt.Errorf("put into table %q", *in.TableName)
	}
	pk := dynamo.Text(in.Item, "pk")
	key := pk + " " + dynamo.Text(in.Item, "sk")
	items := f.items
	if strings.HasPrefix(pk, "H#") {
		items = f.folded
	}
	old := items[key]
	if in.ConditionExpression != nil && old != nil && !reflect.DeepEqual(old["puts"], in.ExpressionAttributeValues[":seen"]) {
		return nil, &types.ConditionalCheckFailedException{}
	}
	if at, found := slices.BinarySearch(f.byPK[pk], key); !found {
		f.byPK[pk] = slices.Insert(f.byPK[pk], at, key)
	}
	items[key] = in.Item
	return &dynamodb.PutItemOutput{}, nil
}

// isDown counts a call, and reports whether it fails.
func (f *fakeTable) isDown() bool {
	f.calls++
	return f.failFrom > 0 && f.calls >= f.failFrom
}

// Query returns the items between the sort keys :low and :high, in pages of two items.
func (f *fakeTable) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isDown() || f.failQuery != nil {
		return nil, cmp.Or(f.failQuery, errPut)
	}
	values, out := in.ExpressionAttributeValues, &dynamodb.QueryOutput{}
	pk, low, high, after := dynamo.Text(values, ":pk"), dynamo.Text(values, ":low"), dynamo.Text(values, ":high"), dynamo.Text(in.ExclusiveStartKey, "sk")
	first, _ := slices.BinarySearch(f.byPK[pk], pk+" "+max(low, after))
	for _, key := range f.byPK[pk][first:] {
		item, ok := f.items[key]
		if !ok {
			item = f.folded[key]
		}
		sk := dynamo.Text(item, "sk")
		if sk > high {
			break
		}
		if sk == after {
			continue
		}
		if len(out.Items) == 2 {
			out.LastEvaluatedKey = dynamo.Key(pk, dynamo.Text(out.Items[len(out.Items)-1], "sk"))
			break
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

// datum is a value of a metric, and the values of its dimensions joined by spaces.
type datum struct {
	name  string
	value float64
	of    string
}

// memorySink keeps all metrics.
type memorySink struct {
	mu    sync.Mutex
	data  []datum
	calls int
}

func (m *memorySink) Put(_ context.Context, data []hotkeys.Datum) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range data {
		var of []string
		for _, dim := range d.Dimensions {
			of = append(of, *dim.Value)
		}
		m.data = append(m.data, datum{*d.MetricName, *d.Value, strings.Join(of, " ")})
	}
	m.calls++
	return nil
}

// fixture is a detector with its fake dependencies.
type fixture struct {
	handler *hotkeys.Handler
	table   *fakeTable
	shards  *fakeShards
	now     time.Time
	sink    *memorySink
	logs    *bytes.Buffer
}

func settings() hotkeys.Settings {
	return hotkeys.Settings{
		ItemsTable: "hotshard-items", EventsTable: "hotshard-events", HeatTable: "heat", ShardMapTable: "shard-map",
		Window: 10 * time.Second, PartitionWCU: 100, Threshold: 0.7, TopK: 2000,
		HeatRetention: 28 * time.Hour, MetricNames: display.Plain, Control: growth.Act, Quiet: 10 * time.Minute,
		EventAhead: 2 * time.Second,
	}
}

// newFixture returns a detector with these settings, whose tables are empty.
func newFixture(s hotkeys.Settings) *fixture {
	f := &fixture{
		table:  &fakeTable{folded: map[string]dynamo.Item{}, items: map[string]dynamo.Item{}, byPK: map[string][]string{}},
		shards: &fakeShards{entries: map[string]shardmap.Entry{}, partitions: 250},
		sink:   new(memorySink), logs: new(bytes.Buffer), now: start,
	}
	var err error
	f.handler, err = hotkeys.New(s, f.deps())
	if err != nil {
		panic(err)
	}
	return f
}

func (f *fixture) deps() hotkeys.Deps {
	return hotkeys.Deps{
		Heat: f.table, Shards: f.shards, Metrics: f.sink,
		Log: slog.New(slog.NewTextHandler(f.logs, nil)), Now: func() time.Time { return f.now },
	}
}

// rebuild replaces the detector by one with these settings and changed dependencies, over the same fakes.
func (f *fixture) rebuild(t testing.TB, s hotkeys.Settings, change func(*hotkeys.Deps)) {
	t.Helper()
	deps := f.deps()
	if change != nil {
		change(&deps)
	}
	var err error
	if f.handler, err = hotkeys.New(s, deps); err != nil {
		t.Fatal(err)
	}
}

// putHeat stores attributes in the heat table.
func (f *fixture) putHeat(t tester, attributes dynamo.Item) {
	t.Helper()
	if _, err := f.table.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("heat"), Item: attributes}); err != nil {
		t.Fatalf("putting %v: %v", attributes["sk"], err)
	}
}

// rows merges all heat items, as the query function does.
func (f *fixture) rows(t testing.TB) []heat.KeyHeat {
	t.Helper()
	return heat.Merge(slices.Collect(maps.Values(parsed(t, f))))
}

// values returns the values that were sent for a metric, by its dimensions' values joined by spaces.
func (f *fixture) values(name string) map[string][]float64 {
	values := make(map[string][]float64)
	for _, d := range f.sink.data {
		if d.name == name {
			values[d.of] = append(values[d.of], d.value)
		}
	}
	return values
}

// write describes one stream record.
type write struct {
	key string
	at  float64 // seconds after start
	ttl bool
	raw string // the whole record as JSON; replaces all other fields

	sk, image string // the sort key and the new image; without an image, the sort key is x
	old       string // the old image; "" for none
}

// scored returns a score that moves a player's entry from one write shard of a board's period to another. If from is
// -1, the entry is new.
func scored(board, period, player string, at float64, from, to int) write {
	entry := func(n, rank int) string {
		if n < 0 {
			return ""
		}
		return fmt.Sprintf(`{"board_shard":{"S":"L#%s#%s#%d"},"rank_key":{"S":"%d#%s"},"score":{"N":"5"}}`, board, period, n, rank, player)
	}
	pk, sk := schema.EntryKey(board, period, player)
	return write{key: pk, sk: sk, at: at, old: entry(from, 1), image: entry(to, 2)}
}

type writes []write

func (w writes) json(first int) string {
	out := append(make([]byte, 0, 256*len(w)), '[')
	for i, r := range w {
		if i > 0 {
			out = append(out, ',')
		}
		if r.raw != "" {
			out = append(out, r.raw...)
			continue
		}
		name, identity := "INSERT", "null"
		if r.ttl {
			name, identity = "REMOVE", `{"type":"Service","principalId":"dynamodb.amazonaws.com"}`
		}
		if r.image == "" {
			r.sk, r.image = "x", "null"
		}
		if r.old == "" {
			r.old = "null"
		} else {
			name = "MODIFY"
		}
		key, _ := json.Marshal(r.key)
		out = append(append(out, `{"eventName":"`...), name...)
		out = append(append(out, `","userIdentity":`...), identity...)
		out = append(out, `,"dynamodb":{"ApproximateCreationDateTime":`...)
		out = strconv.AppendFloat(out, float64(start.Unix())+r.at, 'f', 1, 64)
		out = strconv.AppendInt(append(out, `,"SequenceNumber":"`...), int64(first+i), 10)
		out = append(append(out, `","Keys":{"sk":{"S":"`...), r.sk...)
		out = append(append(out, `"},"pk":{"S":`...), key...)
		out = append(append(out, `}},"NewImage":`...), r.image...)
		out = append(append(append(out, `,"OldImage":`...), r.old...), "}}"...)
	}
	return string(append(out, ']'))
}

// batch is one delivery in a tumbling window that begins at start, or later.
type batch struct {
	later time.Duration
	writes
	first        int // sequence number of the first write
	state        map[string]string
	final, early bool
	shard        string
	table        string        // without the prefix hotshard-; items if ""
	length       time.Duration // of the tumbling window; 10 s if 0
}

func (b batch) payload() []byte {
	state, _ := json.Marshal(b.state)
	at := func(d time.Duration) string { return start.Add(b.later + d).Format(time.RFC3339) }
	return fmt.Appendf(nil, `{"Records":%s,"window":{"start":"%s","end":"%s"},"state":%s,
		"shardId":"shardId-1%s","eventSourceARN":"arn:aws:dynamodb:eu-west-1:123456789012:table/hotshard-%s/stream/2026-01-05T00:00:00.000",
		"isFinalInvokeForWindow":%v,"isWindowTerminatedEarly":%v}`, b.json(b.first), at(0), at(cmp.Or(b.length, 10*time.Second)), state, b.shard, cmp.Or(b.table, "items"), b.final, b.early)
}

// response is the response of an invocation with records.
type response struct {
	State    map[string]string `json:"state"`
	Failures []struct {
		Item string `json:"itemIdentifier"`
	} `json:"batchItemFailures"`
}

func (f *fixture) invoke(t tester, payload []byte) (response, error) {
	t.Helper()
	raw, err := f.handler.Invoke(context.Background(), payload)
	if err != nil {
		return response{}, err
	}
	var r response
	if err := json.Unmarshal(raw, &r); err != nil || r.State == nil || r.Failures == nil {
		t.Fatalf("response %s: %v; want a state and failures", raw, err)
	}
	return r, nil
}

// must delivers a payload, and fails the test if a record fails. It returns the window's state.
func (f *fixture) must(t tester, payload []byte) map[string]string {
	t.Helper()
	r, err := f.invoke(t, payload)
	if err != nil || len(r.Failures) > 0 {
		t.Fatalf("error %v, failed records %v; want none", err, r.Failures)
	}
	return r.State
}

// unwindowed returns the payload of a delivery without a tumbling window.
func unwindowed(w writes, first int) []byte {
	return fmt.Appendf(nil, `{"Records":%s}`, w.json(first))
}
