package hotkey_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/metrics"
)

var start = time.Date(2026, 1, 5, 13, 0, 0, 0, time.UTC)

// fakeTable keeps items by key and fails the puts that fail says.
type fakeTable struct {
	mu    sync.Mutex
	items map[string]map[string]types.AttributeValue
	puts  int
	fail  func(put int) error
}

func (f *fakeTable) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.puts++
	if f.fail != nil {
		if err := f.fail(f.puts); err != nil {
			return nil, err
		}
	}
	if *in.TableName != "rollups" {
		return nil, fmt.Errorf("put into table %q", *in.TableName)
	}
	key := in.Item["pk"].(*types.AttributeValueMemberS).Value + " " + in.Item["sk"].(*types.AttributeValueMemberS).Value
	f.items[key] = in.Item
	return &dynamodb.PutItemOutput{}, nil
}

// fixture is a detector with everything around it.
type fixture struct {
	handler *hotkey.Handler
	table   *fakeTable
	sink    *metrics.Memory
	logs    *bytes.Buffer
}

func settings() hotkey.Settings {
	return hotkey.Settings{
		ItemsTable: "items", RollupsTable: "rollups", ShardMapTable: "shard-map", PartitionKey: "pk",
		Window: 10 * time.Second, PartitionWCU: 100, Threshold: 0.7, TopK: 2000,
		HeatRetention: time.Hour, MetricKeys: 100,
	}
}

func newFixture(s hotkey.Settings) *fixture {
	f := &fixture{
		table: &fakeTable{items: make(map[string]map[string]types.AttributeValue)},
		sink:  metrics.NewMemory(10_000), logs: new(bytes.Buffer),
	}
	var err error
	f.handler, err = hotkey.New(s, hotkey.Deps{
		Rollups: f.table, Metrics: f.sink, Log: slog.New(slog.NewTextHandler(f.logs, nil)),
		Now: func() time.Time { return start },
	})
	if err != nil {
		panic(err)
	}
	return f
}

// rows merges all heat items, as the query function does.
func (f *fixture) rows(t testing.TB) []heat.Row {
	t.Helper()
	var items []heat.Item
	for _, attributes := range f.table.items {
		item, err := heat.Parse(attributes)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	return heat.Merge(items)
}

// values returns the values sent for a metric, by its dimensions' values.
func (f *fixture) values(name string) map[string][]float64 {
	values := make(map[string][]float64)
	for _, d := range f.sink.Data() {
		if d.Name == name {
			var dims []string
			for _, dim := range d.Dimensions {
				dims = append(dims, dim.Value)
			}
			key := strings.Join(dims, " ")
			values[key] = append(values[key], d.Value)
		}
	}
	return values
}

// write is one record to be.
type write struct {
	key string
	at  float64 // seconds after start
	ttl bool
	raw string // instead of all that
}

type writes []write

func (w writes) json(first int) string {
	var list []string
	for i, r := range w {
		name, identity := "INSERT", "null"
		if r.ttl {
			name, identity = "REMOVE", `{"type":"Service","principalId":"dynamodb.amazonaws.com"}`
		}
		key, _ := json.Marshal(r.key)
		record := fmt.Sprintf(`{"eventName":"%s","userIdentity":%s,"dynamodb":{"ApproximateCreationDateTime":%.1f,"SequenceNumber":"%d","Keys":{"sk":{"S":"x"},"pk":{"S":%s}}}}`,
			name, identity, float64(start.Unix())+r.at, first+i, key)
		if r.raw != "" {
			record = r.raw
		}
		list = append(list, record)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// batch is one delivery in a window of ten seconds from start.
type batch struct {
	writes
	first        int // sequence number of the first write
	state        map[string]string
	final, early bool
	shard        string
}

func (b batch) payload() []byte {
	state, _ := json.Marshal(b.state)
	return fmt.Appendf(nil, `{"Records":%s,"window":{"start":"2026-01-05T13:00:00Z","end":"2026-01-05T13:00:10Z"},"state":%s,
		"shardId":"shardId-1%s","eventSourceARN":"arn:aws:dynamodb:eu-west-1:123456789012:table/hotshard-items/stream/2026-01-05T00:00:00.000",
		"isFinalInvokeForWindow":%v,"isWindowTerminatedEarly":%v}`, b.json(b.first), state, b.shard, b.final, b.early)
}

type answer struct {
	State    map[string]string `json:"state"`
	Failures []struct {
		Item string `json:"itemIdentifier"`
	} `json:"batchItemFailures"`
}

func (f *fixture) invoke(t testing.TB, payload []byte) (answer, error) {
	t.Helper()
	raw, err := f.handler.Invoke(context.Background(), payload)
	if err != nil {
		return answer{}, err
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil || a.State == nil || a.Failures == nil {
		t.Fatalf("the answer is %s: %v", raw, err)
	}
	return a, nil
}

// must delivers what has to succeed, all of it.
func (f *fixture) must(t testing.TB, payload []byte) map[string]string {
	t.Helper()
	a, err := f.invoke(t, payload)
	if err != nil || len(a.Failures) > 0 {
		t.Fatalf("%v, failures %v", err, a.Failures)
	}
	return a.State
}

func unwindowed(w writes, first int) []byte {
	return []byte(`{"Records":` + w.json(first) + `}`)
}
