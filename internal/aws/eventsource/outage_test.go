package eventsource_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/test/require"
)

// outage is a checkpoint table and a stream in memory. During an outage each call hangs until the client's timeout, and
// then fails.
type outage struct {
	eventsource.Source

	mu   sync.Mutex
	back time.Time
	rows map[string]map[string]types.AttributeValue
}

// clientTime is the timeout of a local client's calls.
const clientTime = time.Minute

func (o *outage) begin(length time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.back = time.Now().Add(length)
}

func (o *outage) end() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.back
}

func (o *outage) pass(ctx context.Context) error {
	timer := time.NewTimer(min(clientTime, time.Until(o.end())))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	if time.Now().Before(o.end()) {
		return errors.New("no answer")
	}
	return nil
}

func (o *outage) Shards(ctx context.Context) ([]eventsource.Shard, error) {
	if err := o.pass(ctx); err != nil {
		return nil, err
	}
	return o.Source.Shards(ctx)
}

func (o *outage) Open(shard, after string) eventsource.Reader {
	return &gatedReader{o, o.Source.Open(shard, after)}
}

type gatedReader struct {
	o *outage
	eventsource.Reader
}

func (r *gatedReader) Next(ctx context.Context, limit int) ([]eventsource.Record, bool, error) {
	if err := r.o.pass(ctx); err != nil {
		return nil, false, err
	}
	return r.Reader.Next(ctx, limit)
}

func (o *outage) Query(ctx context.Context, _ *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if err := o.pass(ctx); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	out := &dynamodb.QueryOutput{}
	for _, row := range o.rows {
		out.Items = append(out.Items, row)
	}
	return out, nil
}

func (o *outage) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := o.pass(ctx); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rows[in.Item["stream_shard"].(*types.AttributeValueMemberS).Value] = in.Item
	return &dynamodb.PutItemOutput{}, nil
}

func (o *outage) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	if err := o.pass(ctx); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.rows, in.Key["stream_shard"].(*types.AttributeValueMemberS).Value)
	return &dynamodb.DeleteItemOutput{}, nil
}

// during runs a mapping in a synctest bubble. The outage begins while a record is processed.
func during(t *testing.T, length time.Duration, then func(o *outage, stop func(), ended <-chan error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := &outage{rows: map[string]map[string]types.AttributeValue{}, Source: oneShard(record(1, time.Now()), record(2, time.Now()))}
		m := o.mapping(t, func() { o.begin(length) })
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		then(o, stop, ended)
	})
}

// mapping returns a mapping with the outage's stream and checkpoints.
func (o *outage) mapping(t *testing.T, h handle) *eventsource.Mapping {
	t.Helper()
	return eventsource.NewMapping(eventsource.MappingOptions{
		Name: "test", Source: o, Handler: h, Checkpoints: o, CheckpointTable: "t",
		BatchSize: 1, Logger: slog.New(slog.DiscardHandler),
	})
}

// handle is a handler that calls a function for the first record, and always succeeds.
type handle func()

func (h handle) Invoke(_ context.Context, payload []byte) ([]byte, error) {
	if bytes.Contains(payload, []byte(`"SequenceNumber":"1"`)) {
		h()
	}
	return nil, nil
}

// TestMappingContinuesAfterEngineOutage checks that a mapping continues after half an hour without responses. The outage
// begins between a batch and its checkpoint.
func TestMappingContinuesAfterEngineOutage(t *testing.T) {
	during(t, 30*time.Minute, func(o *outage, stop func(), ended <-chan error) {
		time.Sleep(32 * time.Minute)
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("Run returned %v", err)
		default:
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if at := o.rows["s"]["sequence"].(*types.AttributeValueMemberS).Value; at != "2" {
			t.Errorf("the checkpoint is at %s, want 2", at)
		}
	})
}

// TestMappingStopsDuringEngineOutage checks that Run returns nil within seconds.
func TestMappingStopsDuringEngineOutage(t *testing.T) {
	during(t, 24*time.Hour, func(_ *outage, stop func(), ended <-chan error) {
		time.Sleep(10 * time.Second)
		stop()
		begun := time.Now()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 6*time.Second {
			t.Errorf("Run returned after %v, want at most 6s", took)
		}
	})
}

// TestUnreadableCheckpointsFailMapping checks that Run and Drain return at once, with an error that names the stream
// shard. Damaged checkpoints of other streams are deleted.
func TestUnreadableCheckpointsFailMapping(t *testing.T) {
	type item = map[string]types.AttributeValue
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	arn := text(oneShard().arn)
	begin := func(t *testing.T, rows ...item) (*outage, *eventsource.Mapping) {
		source := oneShard(record(1, time.Now()), record(2, time.Now()))
		source.shards[0].closed = true
		o := &outage{rows: map[string]item{}, Source: source}
		for _, row := range rows {
			row["mapping"] = text("test")
			o.rows[row["stream_shard"].(*types.AttributeValueMemberS).Value] = row
		}
		return o, o.mapping(t, func() {})
	}
	for name, row := range map[string]item{
		"sequence": {"v": number("1"), "sequence": number("1")},
		"version":  {"v": number("2")},
		"finished": {"v": number("1"), "finished": text("yes")},
		"state":    {"v": number("1"), "window_start": number("0"), "window_end": number("1"), "state": text("x")},
	} {
		row["stream_shard"], row["stream"] = text("s"), arn
		for call, consume := range map[string]func(*eventsource.Mapping, context.Context) error{
			"Run": (*eventsource.Mapping).Run, "Drain": (*eventsource.Mapping).Drain,
		} {
			t.Run(call+" with a bad "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					begun := time.Now()
					_, m := begin(t, row)
					ctx, stop := context.WithTimeout(t.Context(), time.Hour)
					defer stop()
					err := consume(m, ctx)
					if err == nil || !strings.Contains(err.Error(), "mapping test for stream shard s: ") || !strings.Contains(err.Error(), name) || time.Since(begun) > 0 {
						t.Errorf("error %v after %v, want stream shard s and %s at once", err, time.Since(begun), name)
					}
				})
			})
		}
	}
	t.Run("other streams are deleted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o, m := begin(t,
				item{"stream_shard": text("s"), "v": text("x")},
				item{"stream_shard": text("gone"), "stream": number("1")},
			)
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			require.NoError(t, m.Drain(ctx))
			left := slices.Sorted(maps.Keys(o.rows))
			if !slices.Equal(left, []string{"s"}) || o.rows["s"]["sequence"].(*types.AttributeValueMemberS).Value != "2" {
				t.Errorf("rows %v; want that of this stream, after its 2 records", o.rows)
			}
		})
	})
}

// TestRelistedStreamShard checks that the records of a stream shard are delivered once, although a listing lacks the stream
// shard after its end.
func TestRelistedStreamShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := oneShard(record(1, time.Now()), record(2, time.Now()))
		source.shards[0].closed = true
		o := &outage{rows: map[string]map[string]types.AttributeValue{}, Source: source}
		delivered := 0
		m := o.mapping(t, func() { delivered++ })
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		listed := source.shards
		for _, list := range [][]scriptShard{nil, listed} {
			time.Sleep(time.Minute)
			source.mu.Lock()
			source.shards = list
			source.mu.Unlock()
		}
		time.Sleep(time.Minute)
		stop()
		if err := <-ended; err != nil || delivered != 1 {
			t.Errorf("Run returned %v, and delivered the first record %d times; want once", err, delivered)
		}
	})
}
