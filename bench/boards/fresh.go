package boards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// writes is how many scores are watched, one after the other; the first does not
// count, since the engine takes seconds for the first record of a large table.
const writes = 21

// freshness lets new players take the lead, and measures how long it takes until hotshard
// shows them first. It then takes them out again.
func (r *standings) freshness(ctx context.Context) (times []time.Duration, err error) {
	if err := r.stream(ctx, true); err != nil {
		return nil, err
	}
	source, err := r.Stream(ctx)
	if err != nil {
		return nil, err
	}
	mapping, err := r.Mapping(eventsource.MappingOptions{
		Name: "aggregator", Source: source, Handler: r.folder, BatchingWindow: 100 * time.Millisecond, PollInterval: 5 * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	rankings := boards.New(r.DB, r.Names.Items, shardmap.New(r.DB, r.Names.ShardMap, shardmap.Options{}), boards.Options{})
	leader := func(n int) string { return fmt.Sprintf("leader-%02d", n) }
	err = rig.During(ctx, mapping, func(ctx context.Context) error {
		for n := range writes {
			score, err := boards.ParseScore(fmt.Sprint(points + n))
			if err == nil {
				err = errors.Join(rankings.Submit(ctx, name, []boards.PlayerScore{{Player: leader(n), Score: score}}, time.Now())...)
			}
			if err != nil {
				return err
			}
			answered := time.Now()
			if err := r.untilFirst(ctx, leader(n)); err != nil {
				return fmt.Errorf("score %d: %w", n, err)
			}
			times = append(times, time.Since(answered))
		}
		for n := range writes {
			if err := rankings.Remove(ctx, name, leader(n), time.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	times = times[min(1, len(times)):]
	slices.Sort(times)
	return times, err
}

// untilFirst waits until a player is the first.
func (r *standings) untilFirst(ctx context.Context, player string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		got, err := r.api.first(ctx)
		if err != nil || len(got) > 0 && got[0] == player {
			return err
		}
		rig.Sleep(ctx, time.Millisecond)
	}
}
