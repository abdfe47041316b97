package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/schema"
)

const increments = 2000

func (r *rig) counters(ctx context.Context, w io.Writer) error {
	fmt.Fprintf(w, `
%d increments of one counter, and what one read of it takes.

| tally | hottest key's share | write units an increment | strong sum | eventual sum |
| --- | ---: | ---: | ---: | ---: |
`, increments)
	for _, n := range []table.Fixed{1, 10, 100} {
		if err := r.tally(ctx, w, n); err != nil {
			return fmt.Errorf("a tally of %d: %w", n, err)
		}
	}
	return r.board(ctx, w)
}

func (r *rig) tally(ctx context.Context, w io.Writer, n table.Fixed) error {
	m, err := r.meter(unlimited)
	if err != nil {
		return err
	}
	if err := m.table(ctx, "counts"); err != nil {
		return err
	}
	t := table.Tally{Client: m.client, Table: "counts", PartitionKey: "pk", SortKey: "sk", Sort: text("-"), Value: "n", Shards: n}
	writes, err := m.cost(func() error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(16)
		for range increments {
			group.Go(func() error { return t.Add(ctx, "home", 1) })
		}
		return group.Wait()
	})
	if err != nil {
		return err
	}
	var cells [2]string
	for i, consistent := range []bool{true, false} {
		c, err := m.cost(func() error { return wantSum(t.Sum(ctx, consistent, "home")) })
		if err != nil {
			return err
		}
		cells[i] = c.reads()
	}
	share, _ := writes.hottest()
	fmt.Fprintf(w, "| N = %d | %.1f %% | %.2f | %s | %s |\n", n, 100*share, writes.stats.WriteUnits/increments, cells[0], cells[1])
	return nil
}

func wantSum(sum fmt.Stringer, err error) error {
	if err == nil && sum.String() != fmt.Sprint(increments) {
		err = fmt.Errorf("the sum is %s, want %d", sum, increments)
	}
	return err
}

const players = 1000

func (r *rig) board(ctx context.Context, w io.Writer) error {
	fmt.Fprintf(w, `
A leaderboard of %d players in one period; its index is sharded.

| leaderboard | hottest index key's share | write units a score: table and index | first 100 |
| --- | ---: | ---: | ---: |
`, players)
	for _, n := range []int{1, 10} {
		if err := r.boardOf(ctx, w, n); err != nil {
			return fmt.Errorf("a board of %d: %w", n, err)
		}
	}
	return nil
}

func (r *rig) boardOf(ctx context.Context, w io.Writer, n int) error {
	m, err := r.meter(unlimited)
	if err != nil {
		return err
	}
	names := schema.NamesFor("")
	if err := local.CreateTables(ctx, m.client, names); err != nil {
		return err
	}
	shards := shardmap.New(m.client, names.ShardMap, shardmap.Options{})
	if n > 1 {
		note := shardmap.Note{By: "patterns", Why: "measured"}
		if _, err := shardmap.NewChanger(m.client, shards, shardmap.ChangerOptions{}).Pin(ctx, "L#game", n, note, start); err != nil {
			return err
		}
	}
	rankings := boards.New(m.client, names.Items, shards, boards.Options{})
	writes, err := m.cost(func() error { return submit(ctx, rankings) })
	if err != nil {
		return err
	}
	reads, err := m.cost(func() error { _, err := rankings.Top(ctx, "game", boards.AllTime.Label(start), 100, start); return err })
	if err != nil {
		return err
	}
	hottest, index, table := 0.0, 0.0, 0.0
	for _, s := range writes.stats.Spaces {
		if s.Index != "" {
			index += s.WriteUnits
		} else if s.Table == names.Items {
			table += s.WriteUnits
		}
	}
	for _, k := range writes.stats.Keys.Writes {
		if k.Index != "" {
			hottest = max(hottest, k.Units)
		}
	}
	fmt.Fprintf(w, "| N = %d | %.1f %% | %.2f and %.2f | %s |\n", n, 100*hottest/index, table/players, index/players, reads.reads())
	return nil
}

func submit(ctx context.Context, rankings *boards.Boards) error {
	var scores []boards.PlayerScore
	for i := range players {
		score, err := boards.ParseScore(fmt.Sprint(i * 7919 % players))
		if err != nil {
			return err
		}
		scores = append(scores, boards.PlayerScore{Player: fmt.Sprintf("player-%d", i), Score: score})
	}
	return errors.Join(rankings.Submit(ctx, "game", scores, start)...)
}
