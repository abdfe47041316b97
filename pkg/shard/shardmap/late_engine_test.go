package shardmap_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// lateClient is a client whose first transaction has an ambiguous result.
type lateClient struct {
	*dynamodb.Client
	now   func() time.Time
	lost  bool          // the transaction is committed at once; otherwise it is held
	stuck time.Duration // the held transaction makes puts conflict, and is committed at the first read so long after it

	mu    sync.Mutex
	begun time.Time
	held  *dynamodb.TransactWriteItemsInput
	sent  bool
}

func (c *lateClient) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.mu.Lock()
	first := c.held == nil
	if first {
		c.held, c.begun = in, c.now()
	}
	c.mu.Unlock()
	switch {
	case !first:
		return c.Client.TransactWriteItems(ctx, in, o...)
	case c.lost:
		if _, err := c.Client.TransactWriteItems(ctx, in, o...); err != nil {
			return nil, err
		}
		return nil, libtest.LostAnswer{}
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (c *lateClient) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stuck > 0 && !c.sent {
		return nil, &types.TransactionConflictException{}
	}
	return c.Client.PutItem(ctx, in, o...)
}

func (c *lateClient) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := c.Client.GetItem(ctx, in, o...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stuck > 0 && c.held != nil && !c.sent && err == nil && c.now().Sub(c.begun) > c.stuck {
		_, err = c.Client.TransactWriteItems(ctx, c.held)
		c.sent = err == nil
	}
	return out, err
}

// TestAmbiguousTransactionsOnTheEngine checks that a change with an ambiguous result is voided if its transaction was not
// committed. It keeps its date if only the answer was lost, and is dated again if it was committed late.
func TestAmbiguousTransactionsOnTheEngine(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	const bound = 4 * time.Second // for a busy machine
	begin := time.Now()
	now := func() time.Time { return libtest.Later.Add(time.Since(begin)) }
	other := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
	require.NoError(t, other.Load(libtest.Within(t), now()))
	grow := func(key string, client *lateClient) (*shardmap.Changer, shardmap.Entry, error) {
		client.Client, client.now = d.Client, now
		c := shardmap.NewChanger(client, shardmap.New(client, d.Names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{Clock: now})
		libtest.SetCommitTime(c, bound)
		e, err := libtest.Grow(libtest.Within(t), c, key, 8, now())
		return c, e, err
	}
	t.Run("voided", func(t *testing.T) {
		client := &lateClient{}
		c, _, err := grow("E#voided", client)
		if !errors.Is(err, shard.ErrUnavailable) {
			t.Fatal(err)
		}
		_, err = d.Client.TransactWriteItems(libtest.Within(t), client.held)
		if canceled := (*types.TransactionCanceledException)(nil); !errors.As(err, &canceled) {
			t.Errorf("sending a voided transaction again: error %v, want it canceled", err)
		}
		e, err := libtest.Grow(libtest.Within(t), c, "E#voided", 8, now())
		if err != nil || e.Version != 2 || len(e.History) != 1 {
			t.Errorf("the next change: %+v, %v; want version 2 with one change", e, err)
		}
	})
	t.Run("lost", func(t *testing.T) {
		c, e, err := grow("E#lost", &lateClient{lost: true})
		require.NoError(t, err)
		if stored, err := c.Read(libtest.Within(t), "E#lost"); err != nil || stored.Version != 1 || !stored.Effective().Equal(e.Effective()) {
			t.Errorf("stored %+v, %v: want %+v", stored, err, e)
		}
	})
	t.Run("late", func(t *testing.T) {
		client := &lateClient{stuck: bound + time.Second}
		_, _, _ = grow("E#late", client) // the changer continues after the deadline
		first := client.begun.Add(shardmap.LeadTime)
		for ctx := libtest.Within(t); ; {
			e, err := other.Read(ctx, "E#late") // reads of client decide when the transaction is committed
			require.NoError(t, err)
			if e.Version == 2 {
				if len(e.History) != 1 || e.Effective().Sub(first) < bound {
					t.Errorf("%+v: want it dated again, after %v", e, first)
				}
				if seen, err := other.Lookup(ctx, "E#late", now()); err != nil || seen.Version != 2 || !seen.Effective().Equal(e.Effective()) {
					t.Errorf("another process has %+v, %v: want %+v", seen, err, e)
				}
				return
			}
		}
	})
}
