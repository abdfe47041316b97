package eventsource_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// patience bounds the wait for a condition. It is long, since no test depends on timing.
const patience = 30 * time.Second

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// recorder is a handler that records its events. The function reply may be nil.
type recorder struct {
	reply func(e events.DynamoDBTimeWindowEvent) (string, error)

	mu   sync.Mutex
	seen []events.DynamoDBTimeWindowEvent
}

func (r *recorder) Invoke(_ context.Context, payload []byte) ([]byte, error) {
	var e events.DynamoDBTimeWindowEvent
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, fmt.Errorf("decoding the event: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, e)
	if r.reply == nil {
		return nil, nil
	}
	out, err := r.reply(e)
	return []byte(out), err
}

func (r *recorder) events() []events.DynamoDBTimeWindowEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// batches returns the sort keys of each invocation.
func (r *recorder) batches() [][]string {
	var all [][]string
	for _, e := range r.events() {
		all = append(all, sortKeys(e))
	}
	return all
}

func (r *recorder) items() []string { return slices.Concat(r.batches()...) }

func sortKeys(e events.DynamoDBTimeWindowEvent) []string {
	var keys []string
	for _, rec := range e.Records {
		keys = append(keys, rec.Change.Keys["sk"].String())
	}
	return keys
}

// bench has a deployment's tables, and the options of a mapping that reads them.
type bench struct {
	db      *dynamodb.Client
	names   schema.Names
	options eventsource.MappingOptions
	log     bytes.Buffer // of errors; read after Run or Drain
}

func newBench(t *testing.T, h eventsource.Handler) *bench {
	t.Helper()
	b := &bench{db: enginetest.Client(t)}
	b.names = enginetest.Tables(t, b.db)
	source, err := eventsource.OpenStream(t.Context(), b.db, enginetest.Streams(t, b.db), b.names.Items)
	require.NoError(t, err)
	b.options = eventsource.MappingOptions{
		Name: "test", Source: source, Handler: h, Checkpoints: b.db, CheckpointTable: dynamolocal.CheckpointTable(b.names),
		Attempts: 3, BackOff: time.Millisecond, PollInterval: time.Millisecond, Logger: slog.New(slog.NewJSONHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	return b
}

func (b *bench) mapping(t *testing.T) *eventsource.Mapping {
	t.Helper()
	return eventsource.NewMapping(b.options)
}

func (b *bench) drain(t *testing.T) {
	t.Helper()
	require.NoError(t, b.mapping(t).Drain(t.Context()))
}

// put writes items with sort keys from a number to another, without the last, and returns the sort keys.
func (b *bench) put(t *testing.T, from, to int) []string {
	t.Helper()
	var keys []string
	for i := from; i < to; i++ {
		keys = append(keys, fmt.Sprintf("%04d", i))
		_, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.names.Items, Item: map[string]types.AttributeValue{
			schema.PK: &types.AttributeValueMemberS{Value: "k"}, schema.SK: &types.AttributeValueMemberS{Value: keys[i-from]},
		}})
		require.NoError(t, err)
	}
	return keys
}

func closeConnections() { dynamolocal.Transport().(*http.Transport).CloseIdleConnections() }

// script is a stream in memory.
type script struct {
	arn    string
	mu     sync.Mutex
	shards []scriptShard
	empty  atomic.Int64 // reads without a record
}
type scriptShard struct {
	eventsource.Shard
	records []eventsource.Record
	closed  bool
}

func (s *script) ARN() string { return s.arn }

func (s *script) Shards(context.Context) ([]eventsource.Shard, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []eventsource.Shard
	for _, shard := range s.shards {
		list = append(list, shard.Shard)
	}
	return list, nil
}

func (s *script) Open(shard, after string) eventsource.Reader {
	return &scriptReader{s: s, shard: shard, after: after}
}

type scriptReader struct {
	s            *script
	shard, after string
}

func (r *scriptReader) Next(_ context.Context, limit int) ([]eventsource.Record, bool, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	at := slices.IndexFunc(r.s.shards, func(s scriptShard) bool { return s.ID == r.shard })
	shard := r.s.shards[at]
	from := slices.IndexFunc(shard.records, func(rec eventsource.Record) bool { return rec.Sequence == r.after }) + 1
	out := shard.records[from:min(len(shard.records), from+limit)]
	if len(out) > 0 {
		r.after = out[len(out)-1].Sequence
	} else {
		r.s.empty.Add(1)
	}
	return out, shard.closed && from+len(out) == len(shard.records), nil
}

// oneShard returns a stream with the stream shard s.
func oneShard(records ...eventsource.Record) *script {
	return &script{arn: "arn:script", shards: []scriptShard{{Shard: eventsource.Shard{ID: "s"}, records: records}}}
}

// record returns a record with this number as its sort key and its sequence number.
func record(n int, created time.Time) eventsource.Record {
	return eventsource.Record{Sequence: strconv.Itoa(n), Created: created, JSON: fmt.Appendf(nil,
		`{"eventName":"INSERT","dynamodb":{"ApproximateCreationDateTime":%d,"Keys":{"sk":{"S":"%d"}},"SequenceNumber":"%d"}}`, created.Unix(), n, n)}
}

// run starts a mapping. Calling stop ends it without a drain, and waits.
func (b *bench) run(t *testing.T) (m *eventsource.Mapping, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	m = b.mapping(t)
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	return m, func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	}
}

// runOnce runs a mapping until it has read its script to the end and has been idle, and stops it without a drain.
func (b *bench) runOnce(t *testing.T, s *script) {
	t.Helper()
	_, stop := b.run(t)
	eventually(t, "the mapping to be idle", func() bool { return s.empty.Load() >= 2 })
	stop()
}
