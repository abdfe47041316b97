package shardmap_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// hanging is a shard map whose reads hang until the channel is closed.
type hanging chan struct{}

func hang(t *testing.T) hanging {
	h := make(hanging)
	t.Cleanup(func() { close(h) })
	return h
}

var errHung = errors.New("it hung")

func (h hanging) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-h:
		return errHung
	}
}

func (h hanging) GetItem(ctx context.Context, _ *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, h.wait(ctx)
}

func (h hanging) Query(ctx context.Context, _ *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return nil, h.wait(ctx)
}

// TestHangingMap checks that counters are written while the map's reads hang, and that an event's read then fails with
// another error than ErrNotFound.
func TestHangingMap(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	writer := counters.NewWriter(d.Client, d.Names.Items, shardmap.New(hang(t), "map", shardmap.Options{}), counters.Options{})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			if err := writer.Add(ctx, "c", 1, libtest.Later); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	reader := events.NewReader(d.Client, d.Names.Events, shardmap.New(hang(t), "map", shardmap.Options{}))
	if _, err := reader.Get(ctx, "e", "x", libtest.Later, libtest.Later); err == nil || errors.Is(err, shard.ErrNotFound) {
		t.Errorf("Get without a map: error %v, want one that is not ErrNotFound", err)
	}
}
