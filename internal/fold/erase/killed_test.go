package erase_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/lane"
)

var errKilled = errors.New("killed")

// mortal is a client that fails for good after so many writes.
type mortal struct {
	*dynamodb.Client
	left atomic.Int64
}

func (m *mortal) die() error {
	if m.left.Add(-1) < 0 {
		return errKilled
	}
	return nil
}

func (m *mortal) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	if err := m.die(); err != nil {
		return nil, err
	}
	return m.Client.DeleteItem(ctx, in, o...)
}

func (m *mortal) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := m.die(); err != nil {
		return nil, err
	}
	return m.Client.UpdateItem(ctx, in, o...)
}

func (m *mortal) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := m.die(); err != nil {
		return nil, err
	}
	return m.Client.PutItem(ctx, in, o...)
}

func (m *mortal) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := m.die(); err != nil {
		return nil, err
	}
	return m.Client.TransactWriteItems(ctx, in, o...)
}

// TestKilledAndCalledAgain: after some writes, each time some more, the process dies;
// the last one finishes. The aggregator is behind in the meantime: it starts only
// after the first two deaths.
func TestKilledAndCalledAgain(t *testing.T) {
	for _, k := range []schema.BaseKey{keys[1], keys[0], keys[3]}[:lane.Runs(1, 3)] {
		t.Run(string(k.Type), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.fill(t, k, 3)
			o := r.options()
			o.Wait = time.Second
			deaths, stop := 0, func() {}
			for writes := int64(1); ; writes += writes + 3 {
				if deaths == 2 {
					stop = r.run(t, false)
					o.Wait = 40 * time.Second
				}
				client := &mortal{Client: r.db}
				client.left.Store(writes)
				report, err := r.eraser(t, client, o).Key(t.Context(), k)
				if err == nil && len(report.Left) == 0 {
					break
				}
				if err != nil && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				deaths++
			}
			if deaths < 2 {
				t.Errorf("it died %d times", deaths)
			}
			stop()
			r.run(t, true)()
			if left := r.leftovers(t, doomed); len(left) > 0 {
				t.Errorf("left:\n%s", strings.Join(left, "\n"))
			}
		})
	}
}
