package eventsource_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local/eventsource"
)

// outage is a checkpoint table in memory, and a gate before it and a stream: until the
// engine is back, calls hang for as long as a client waits, and fail then.
type outage struct {
	eventsource.Source

	mu   sync.Mutex
	back time.Time
	rows map[string]map[string]types.AttributeValue
}

// clientTime is what a call of a local client takes at most.
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

func (o *outage) Shards(ctx context.Context) ([]eventsource.StreamShard, error) {
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

func (o *outage) DeleteItem(ctx context.Context, _ *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return &dynamodb.DeleteItemOutput{}, o.pass(ctx)
}

// during runs a mapping in a bubble of its own clock, in which the engine stops answering
// when a record is being handled.
func during(t *testing.T, length time.Duration, then func(o *outage, stop func(), ended <-chan error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := &outage{rows: map[string]map[string]types.AttributeValue{}, Source: &script{arn: t.Name(), shards: []scriptShard{{
			StreamShard: eventsource.StreamShard{ID: "s"}, records: []eventsource.Record{record(1, time.Now()), record(2, time.Now())},
		}}}}
		h := handle(func() { o.begin(length) })
		m, err := eventsource.NewMapping(eventsource.MappingOptions{
			Name: "test", Source: o, Handler: h, Checkpoints: o, CheckpointTable: "t", FailureFile: filepath.Join(t.TempDir(), "f"),
			BatchSize: 1, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		then(o, stop, ended)
	})
}

// handle is a handler that does something with its first record, and takes all.
type handle func()

func (h handle) Invoke(_ context.Context, payload []byte) ([]byte, error) {
	if bytes.Contains(payload, []byte(`"SequenceNumber":"1"`)) {
		h()
	}
	return nil, nil
}

// TestAnOutageEndsNoMapping: the engine does not answer for half an hour, from between a
// batch and its checkpoint on. It goes on where it was then.
func TestAnOutageEndsNoMapping(t *testing.T) {
	during(t, 30*time.Minute, func(o *outage, stop func(), ended <-chan error) {
		time.Sleep(32 * time.Minute)
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("the mapping ended: %v", err)
		default:
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if at := o.rows["s"]["sequence"].(*types.AttributeValueMemberS).Value; at != "2" {
			t.Errorf("the checkpoint is at %s", at)
		}
	})
}

// TestAMappingStopsInAnOutage, within some seconds and without an error.
func TestAMappingStopsInAnOutage(t *testing.T) {
	during(t, 24*time.Hour, func(_ *outage, stop func(), ended <-chan error) {
		time.Sleep(10 * time.Second)
		stop()
		begun := time.Now()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 6*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
