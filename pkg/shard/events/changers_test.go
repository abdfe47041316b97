package events_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// changes is a shard map's table whose transactions lose their answers, or are committed 1, 6 or 59 s after the caller's
// deadline. Some of their programs die.
type changes struct {
	*enginetest.MapTable
	*store

	mu     sync.Mutex
	held   bool // a transaction in flight blocks the key's item
	late   []lateGrowth
	counts struct{ commits, late, decreases int }
}

// lateGrowth is a growth that was committed late.
type lateGrowth struct {
	at, from time.Time // when it was committed, and from when on it changed counts
}

// known returns by when all processes know the growth, or its new date.
func (l lateGrowth) known() time.Time {
	return l.at.Add(shardmap.LookBack + shardmap.ViewAge + 300*time.Millisecond)
}

// excuses reports whether processes may have used different counts for t at the given times, because not all knew a
// late growth: docs/limits.md.
func (c *changes) excuses(t time.Time, times ...time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first, last := slices.MinFunc(times, time.Time.Compare), slices.MaxFunc(times, time.Time.Compare)
	return slices.ContainsFunc(c.late, func(l lateGrowth) bool {
		return !t.Before(l.from) && !t.After(l.known().Add(shardmap.MaxAhead)) && !first.After(l.known()) && !last.Before(l.at)
	})
}

// mapClient is a program's client of the shard map, until the program dies.
type mapClient struct {
	*changes
	skew time.Duration
	dead bool // behind mu
}

func (c *mapClient) isDead() bool {
	c.changes.mu.Lock()
	defer c.changes.mu.Unlock()
	return c.dead
}

// call waits for one direction of a call.
func (c *mapClient) call(ctx context.Context) error {
	if c.isDead() {
		<-ctx.Done()
		return ctx.Err()
	}
	return c.Wait(ctx, c.within(0, 20*time.Millisecond))
}

func (c *mapClient) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if err := c.call(ctx); err != nil {
		return nil, err
	}
	return c.MapTable.GetItem(ctx, in, o...)
}

func (c *mapClient) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if err := c.call(ctx); err != nil {
		return nil, err
	}
	return c.MapTable.Query(ctx, in, o...)
}

// PutItem voids a change.
func (c *mapClient) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := c.call(ctx); err != nil {
		return nil, err
	}
	c.changes.mu.Lock()
	held := c.held
	c.changes.mu.Unlock()
	if held {
		return nil, &types.TransactionConflictException{}
	}
	return c.MapTable.PutItem(ctx, in, o...)
}

// TransactWriteItems loses some answers and commits some transactions after the caller's deadline.
func (c *mapClient) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := c.call(ctx); err != nil {
		return nil, err
	}
	switch n := c.below(100); {
	case n < 70:
		return &dynamodb.TransactWriteItemsOutput{}, c.commit(in, false)
	case n < 75: // nothing is written
	case n < 82:
		_ = c.commit(in, false)
	default:
		dies, holds := c.below(2) == 0, c.below(2) == 0
		delay := []time.Duration{time.Second, 6 * time.Second, 59 * time.Second}[c.below(3)]
		c.changes.mu.Lock()
		c.dead = c.dead || dies
		holds = holds && !c.held
		c.held = c.held || holds
		c.changes.mu.Unlock()
		go func() {
			<-ctx.Done()
			time.Sleep(delay)
			_ = c.commit(in, holds)
		}()
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// historyOf returns the changes of an entry's item, and when it was made.
func historyOf(it dynamo.Item) (h shard.History, made time.Time) {
	list, _ := it["shard_history"].(*types.AttributeValueMemberL)
	if list == nil {
		return nil, made
	}
	var texts []string
	for _, v := range list.Value {
		texts = append(texts, libtest.Text(v))
	}
	h, _ = shard.ParseHistory(texts)
	made, _ = shard.ParseEpoch(libtest.Text(it["last_updated"]))
	return h, made
}

func (c *mapClient) commit(in *dynamodb.TransactWriteItemsInput, holder bool) error {
	c.MapTable.Mu.Lock()
	defer c.MapTable.Mu.Unlock()
	c.changes.mu.Lock()
	defer c.changes.mu.Unlock()
	put := in.TransactItems[0].Put
	there := c.Items[enginetest.ItemSlot(put.Item)]
	blocked := c.held && !holder
	if c.held = blocked; blocked || dynamo.Digits(there, "version") != dynamo.Digits(put.ExpressionAttributeValues, ":old") {
		return &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: reason("ConditionalCheckFailed")}}}
	}
	for _, action := range in.TransactItems {
		c.Put(action.Put.Item)
	}
	before, _ := historyOf(there)
	after, made := historyOf(put.Item)
	same := 0 // number of unchanged changes at the history's begin
	for same < len(before) && same < len(after) && before[same] == after[same] {
		same++
	}
	c.counts.commits++
	if after.Newest() < before.Newest() {
		c.counts.decreases++
	} else if now := time.Now(); now.Sub(made.Add(-c.skew)) > shardmap.CommitTime+200*time.Millisecond && same < len(after) {
		from := after[same].At
		if same < len(before) && before[same].At.Before(from) {
			from = before[same].At
		}
		c.counts.late++
		c.late = append(c.late, lateGrowth{now, from})
	}
	return nil
}

func reason(text string) *string { return &text }
