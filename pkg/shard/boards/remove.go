package boards

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Remove deletes a player's entries in the periods of all kinds that hold now,
// whatever the board's settings; those of past periods stay until they expire.
// Removing what is not there is no error. A later score makes a new entry; its
// rev, the microsecond, is higher unless the clock of who makes it is behind the
// first write of the old one.
func (l *Boards) Remove(ctx context.Context, board, player string, now time.Time) error {
	var group errgroup.Group
	for _, s := range l.spans(board, kinds, now) {
		group.Go(func() error { return l.remove(ctx, s, player, now) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("removing player %q from board %q: %w", player, board, err)
	}
	return nil
}

// remove deletes one entry, which costs its index partition a unit, if it is there.
func (l *Boards) remove(ctx context.Context, s span, player string, now time.Time) error {
	request, clock := shardmap.Request{Key: Key(s.board), ID: watching.Hash(player), At: now}, dynamo.StartClock(now)
	l.watch.Requested(request)
	return dynamo.Persist(ctx, func(ctx context.Context) error {
		_, err := l.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &l.table, Key: dynamo.Key(schema.EntryKey(s.board, s.label, player)),
		}, dynamo.NoRetry)
		at := clock.Now()
		entry, count := l.shards.Newest(ctx, request.Key, at)
		n := shard.Calculated(player, count)
		watching.Tell(ctx, l.watch, shardmap.Attempt{Key: request.Key, Request: request.ID, Entry: entry, Shard: n, At: at}, err, dynamo.IndexKeyRange)
		return err
	})
}
