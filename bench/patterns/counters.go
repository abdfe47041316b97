package patterns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

const increments = 2000

func tallies(ctx context.Context, w io.Writer, endpoint string) error {
	fmt.Fprintf(w, `
%d increments of one counter, and what one read of it takes.

| tally | hottest key's share | write units an increment | strong sum | eventual sum |
| --- | ---: | ---: | ---: | ---: |
`, increments)
	for _, n := range []table.Fixed{1, 10, 100} {
		if err := rig.With(ctx, endpoint, limiter.Options{}, func(t *rig.Tables) error { return tally(ctx, w, t, n) }); err != nil {
			return fmt.Errorf("a tally of %d: %w", n, err)
		}
	}
	return nil
}

func tally(ctx context.Context, w io.Writer, tables *rig.Tables, n table.Fixed) error {
	m := tables.Meter
	t := table.Tally{Client: m.Client, Table: tables.Names.Rollups, PartitionKey: "pk", SortKey: "sk", Sort: rig.S("-"), Value: "n", Shards: n}
	writes, err := m.Cost(func() error {
		return rig.Together(ctx, increments, func(ctx context.Context, _ int) error { return t.Add(ctx, "home", 1, start) })
	})
	if err != nil {
		return err
	}
	share, _ := writes.Hottest()
	fmt.Fprintf(w, "| N = %d | %.1f %% | %.2f |", n, 100*share, writes.WriteUnits/increments)
	for _, sum := range []func(context.Context, []string, time.Time) (*big.Int, error){t.Sum, t.EventualSum} {
		c, err := m.Cost(func() error { return wantSum(sum(ctx, []string{"home"}, start)) })
		if err != nil {
			return err
		}
		fmt.Fprintf(w, " %s |", c.Reads())
	}
	fmt.Fprintln(w)
	return nil
}

func wantSum(sum fmt.Stringer, err error) error {
	if err == nil && sum.String() != fmt.Sprint(increments) {
		err = fmt.Errorf("the sum is %s, want %d", sum, increments)
	}
	return err
}

const players = 1000

func tryBoards(ctx context.Context, w io.Writer, endpoint string) error {
	fmt.Fprintf(w, `
A leaderboard of %d players in one period; its index is sharded.

| leaderboard | hottest index key's share | write units a score: table and index | first 100 |
| --- | ---: | ---: | ---: |
`, players)
	for _, n := range []int{1, 10} {
		if err := rig.With(ctx, endpoint, limiter.Options{}, func(t *rig.Tables) error { return board(ctx, w, t, n) }); err != nil {
			return fmt.Errorf("a board of %d: %w", n, err)
		}
	}
	return nil
}

func board(ctx context.Context, w io.Writer, t *rig.Tables, n int) error {
	if n > 1 {
		if err := t.Pin(ctx, schema.BaseKey{Type: schema.Board, Name: "game"}, n, start); err != nil {
			return err
		}
	}
	rankings := boards.New(t.Meter.Client, t.Names.Items, shardmap.New(t.Meter.Client, t.Names.ShardMap, shardmap.Options{}), boards.Options{})
	writes, err := t.Meter.Cost(func() error { return submit(ctx, rankings) })
	if err != nil {
		return err
	}
	reads, err := t.Meter.Cost(func() error { _, err := rankings.Top(ctx, "game", boards.AllTime.Label(start), 100, start); return err })
	if err != nil {
		return err
	}
	hottest, index, table := 0.0, 0.0, 0.0
	for _, s := range writes.Spaces {
		if s.Index != "" {
			index += s.WriteUnits
		} else if s.Table == t.Names.Items {
			table += s.WriteUnits
		}
	}
	for _, k := range writes.Keys.Writes {
		if k.Index != "" {
			hottest = max(hottest, k.Units)
		}
	}
	fmt.Fprintf(w, "| N = %d | %.1f %% | %.2f and %.2f | %s |\n", n, 100*hottest/index, table/players, index/players, reads.Reads())
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

const series = 10_000

// openings counts how many names begin a new partition key in the same second, when
// each name writes every second. It is arithmetic, and asks no engine.
func openings(_ context.Context, w io.Writer, _ string) error {
	fmt.Fprintf(w, `
%d names that write every second: how many begin a new bucket in the busiest second.

| bucket | without offset | with its offset |
| --- | ---: | ---: |
`, series)
	for _, b := range []shard.Bucket{shard.Minute, shard.Hour, shard.Day} {
		perSecond := map[int]int{}
		for i := range series {
			perSecond[int(b.Offset(fmt.Sprintf("name-%d", i))/time.Second)]++
		}
		most := 0
		for _, n := range perSecond {
			most = max(most, n)
		}
		fmt.Fprintf(w, "| %s | %d | %d |\n", b, series, most)
	}
	return nil
}

const clients = 600

// jitters has clients write one item each on the minute, late by a random while, to a
// table of 16 partitions that take 5 write units a second each; the limiter's clock is
// the writes' own. Nobody repeats a refused write.
func jitters(ctx context.Context, w io.Writer, endpoint string) error {
	fmt.Fprintf(w, `
%d clients write one item each on the minute, to 16 partitions of 5 write units a second.

| jitter | refused at the first attempt |
| ---: | ---: |
`, clients)
	for _, most := range []time.Duration{0, time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second} {
		refused, err := herd(ctx, endpoint, most)
		if err != nil {
			return fmt.Errorf("jitter of %s: %w", most, err)
		}
		fmt.Fprintf(w, "| %s | %d (%.1f %%) |\n", most, refused, 100*float64(refused)/clients)
	}
	return nil
}

func herd(ctx context.Context, endpoint string, most time.Duration) (refused int, err error) {
	now := start
	limits := limiter.Options{Partitions: 16, PartitionWCU: 5, Seed: 1, Now: func() time.Time { return now }}
	random := rand.New(rand.NewPCG(1, 2)) // the same delays in each run
	delays := make([]time.Duration, clients)
	for i := range delays {
		if most > 0 {
			delays[i] = time.Duration(random.Int64N(int64(most)))
		}
	}
	slices.Sort(delays)
	err = rig.With(ctx, endpoint, limits, func(t *rig.Tables) error {
		for i, d := range delays {
			now = start.Add(d)
			_, err := t.Meter.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.Names.Rollups, Item: rig.Key(fmt.Sprint("client-", i), "-")},
				func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
			if _, throttled := errors.AsType[*types.ProvisionedThroughputExceededException](err); throttled {
				refused++
			} else if err != nil {
				return err
			}
		}
		return nil
	})
	return refused, err
}
