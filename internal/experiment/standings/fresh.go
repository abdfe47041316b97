package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/internal/local"
)

// writes is how many scores are watched, one after the other; the first does not
// count, since the engine takes seconds for the first record of a large table.
const writes = 21

// freshness lets new players take the lead, and measures how long it takes until each
// way shows them first. It then takes them out again.
func (r *rig) freshness(ctx context.Context, endpoint string, naive scatter, store *sortedSet) (times [3][]time.Duration, err error) {
	mapping, stop, err := r.mapping(ctx, endpoint)
	if err != nil {
		return times, err
	}
	defer stop()
	running, end := context.WithCancel(ctx)
	group, running := errgroup.WithContext(running)
	group.Go(func() error { return mapping.Run(running) })
	times, err = r.lead(ctx, naive, store)
	if err == nil {
		err = r.gone(ctx, mapping, store)
	}
	end()
	if ran := group.Wait(); ran != nil && !errors.Is(ran, context.Canceled) {
		err = errors.Join(err, ran)
	}
	for i, list := range times {
		times[i] = list[min(1, len(list)):]
		slices.Sort(times[i])
	}
	return times, err
}

func (r *rig) mapping(ctx context.Context, endpoint string) (*local.Mapping, func(), error) {
	if err := r.stream(ctx, true); err != nil {
		return nil, nil, err
	}
	source, err := local.OpenStream(ctx, local.Streams(endpoint, r.access), r.names.Items)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "standings")
	if err != nil {
		return nil, nil, err
	}
	m, err := local.NewMapping(local.MappingOptions{
		Name: "aggregator", Source: source, Handler: r.folder,
		Checkpoints: r.db, CheckpointTable: local.CheckpointTable(r.names), FailureFile: filepath.Join(dir, "failures.jsonl"),
		BatchSize: 1000, BatchingWindow: 100 * time.Millisecond, TumblingWindow: 10 * time.Second,
		Attempts: 10, Bisect: true, PartialFailures: true, PollInterval: 5 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	return m, func() { _ = os.RemoveAll(dir) }, err
}

func (r *rig) boards() *boards.Boards {
	return boards.New(r.db, r.names.Items, shardmap.New(r.db, r.names.ShardMap, shardmap.Options{}), boards.Options{})
}

func leader(n int) string { return fmt.Sprintf("leader-%02d", n) }

// lead writes each score, and waits for it in each way.
func (r *rig) lead(ctx context.Context, naive scatter, store *sortedSet) (times [3][]time.Duration, err error) {
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

// gone takes the leaders out, and waits until all of that is folded.
func (r *rig) gone(ctx context.Context, mapping *local.Mapping, store *sortedSet) error {
	boards := r.boards()
	for n := range writes {
		if err := boards.Remove(ctx, name, leader(n), time.Now()); err != nil {
			return err
		}
		if _, err := store.conn.Do("ZREM", name, leader(n)); err != nil {
			return err
		}
	}
	seen := time.Now().Add(300 * time.Millisecond) // more than the engine takes to show a write in its stream
	for range 1000 {
		if mapping.Stats().CaughtUp.After(seen) {
			return nil
		}
		time.Sleep(30 * time.Millisecond)
	}
	return errors.New("the removals were not folded in 30 s")
}
