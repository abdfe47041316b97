package boards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// writes is how many scores are watched, one after the other; the first does not
// count, since the engine takes seconds for the first record of a large table.
const writes = 21

// freshness lets new players take the lead, and measures how long it takes until each
// way shows them first. It then takes them out again.
func (r *standings) freshness(ctx context.Context, naive scatter, store *sortedSet) (times [3][]time.Duration, err error) {
	if err := r.stream(ctx, true); err != nil {
		return times, err
	}
	source, err := r.Stream(ctx)
	if err != nil {
		return times, err
	}
	mapping, err := r.Mapping(eventsource.MappingOptions{
		Name: "aggregator", Source: source, Handler: r.folder, BatchingWindow: 100 * time.Millisecond, PollInterval: 5 * time.Millisecond,
	})
	if err != nil {
		return times, err
	}
	err = rig.During(ctx, mapping, func(ctx context.Context) (err error) {
		if times, err = r.lead(ctx, naive, store); err != nil {
			return err
		}
		return r.gone(ctx, store)
	})
	for i, list := range times {
		times[i] = list[min(1, len(list)):]
		slices.Sort(times[i])
	}
	return times, err
}

func (r *standings) boards() *boards.Boards {
	return boards.New(r.DB, r.Names.Items, shardmap.New(r.DB, r.Names.ShardMap, shardmap.Options{}), boards.Options{})
}

func leader(n int) string { return fmt.Sprintf("leader-%02d", n) }

// lead writes each score, and waits for it in each way.
func (r *standings) lead(ctx context.Context, naive scatter, store *sortedSet) (times [3][]time.Duration, err error) {
	boards := r.boards()
	for n := range writes {
		if err := submit(ctx, boards, n); err != nil {
			return times, err
		}
		var group errgroup.Group
		for i, first := range []func() (string, error){
			func() (string, error) { return r.api.leader(ctx) },
			func() (string, error) { return naive.leader(ctx) },
			store.leader,
		} {
			if i == 2 {
				if _, err := store.conn.Do("ZADD", name, points+n, leader(n)); err != nil {
					return times, errors.Join(err, group.Wait())
				}
			}
			answered := time.Now()
			group.Go(func() error {
				if err := until(ctx, leader(n), first); err != nil {
					return fmt.Errorf("score %d: %w", n, err)
				}
				times[i] = append(times[i], time.Since(answered))
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return times, err
		}
	}
	return times, nil
}

func submit(ctx context.Context, rankings *boards.Boards, n int) error {
	score, err := boards.ParseScore(fmt.Sprint(points + n))
	if err != nil {
		return err
	}
	return errors.Join(rankings.Submit(ctx, name, []boards.PlayerScore{{Player: leader(n), Score: score}}, time.Now())...)
}

// until waits until a player is the first.
func until(ctx context.Context, player string, first func() (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		got, err := first()
		if got == player || err != nil {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%s stays first", got)
		}
	}
}

// gone takes the leaders out.
func (r *standings) gone(ctx context.Context, store *sortedSet) error {
	boards := r.boards()
	for n := range writes {
		if err := boards.Remove(ctx, name, leader(n), time.Now()); err != nil {
			return err
		}
		if _, err := store.conn.Do("ZREM", name, leader(n)); err != nil {
			return err
		}
	}
	return nil
}
