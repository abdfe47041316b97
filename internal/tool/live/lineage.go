package live

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
)

// Intervals and bounds of finding new stream shards.
const (
	relist   = 30 * time.Second // between two listings of all stream shards
	askAgain = time.Second      // between two requests for the children of ended stream shards
	maxAsks  = 30               // requests for the children of one stream shard
)

// stream reads one stream: each stream shard after its parent.
type stream struct {
	*eventsource.Stream
	r       *Reader
	cursors map[string]*eventsource.Cursor // of the first stream shards, by id, until they are read
}

// run reads until ctx ends, an error is permanent, or the stream has ended.
func (s *stream) run(ctx context.Context) error {
	lineage := &eventsource.Lineage{
		Relist: relist, AskAgain: askAgain, MaxAsks: maxAsks,
		List: func(ctx context.Context) ([]eventsource.Shard, error) {
			return s.list(ctx, func() ([]eventsource.Shard, error) { return s.Shards(ctx) })
		},
		Children: func(ctx context.Context, parent string) ([]eventsource.Shard, error) {
			return s.list(ctx, func() ([]eventsource.Shard, error) { return s.Children(ctx, parent) })
		},
		Start: func(id string) func(context.Context) (time.Time, error) { return s.newShard(id).run },
		Done:  s.r.windows.remove,
	}
	if err := s.r.link.retry(ctx, "", 0, func() error { return s.startAtEnd(ctx, lineage) }); err != nil {
		return err
	}
	if err := lineage.Run(ctx); err != nil {
		return err
	}
	return errStreamEnded
}

// list calls a listing until it succeeds, or fails permanently.
func (s *stream) list(ctx context.Context, call func() ([]eventsource.Shard, error)) (list []eventsource.Shard, err error) {
	err = s.r.link.retry(ctx, "", 0, func() (err error) { list, err = call(); return err })
	return list, err
}

// locateTimeout is how long startAtEnd tries to get a stream shard's first iterator. A stream shard that was closed after the
// listing has none; then all stream shards are listed again.
const locateTimeout = 10 * time.Second

// startAtEnd sets the positions of the open stream shards to their ends, and omits closed stream shards. Counting begins
// with the first whole second after that. It returns errShardEnded if a stream shard was closed meanwhile.
func (s *stream) startAtEnd(ctx context.Context, lineage *eventsource.Lineage) error {
	list, err := s.Shards(ctx)
	if err != nil {
		return err
	}
	s.cursors = make(map[string]*eventsource.Cursor)
	lineage.Reset(list, func(shard eventsource.Shard) bool { return shard.Closed })
	var (
		group    errgroup.Group
		anyEnded atomic.Bool
	)
	group.SetLimit(MaxCalls)
	for _, id := range lineage.Ready() {
		cursor := s.Cursor(id, eventsource.Latest)
		s.cursors[id] = cursor
		group.Go(func() error {
			return s.r.link.retry(ctx, id, locateTimeout, func() error {
				ended, err := cursor.Locate(ctx)
				if ended {
					anyEnded.Store(true)
				}
				return err
			})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if anyEnded.Load() {
		return errShardEnded // so that run lists again: the children exist by now
	}
	s.r.windows.start(s.Now().UTC().Truncate(time.Second).Add(time.Second))
	return nil
}
