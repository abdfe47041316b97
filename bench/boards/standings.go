package boards

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/rollup"
)

// Standings measures what callers of a leaderboard wait and pay for, by the number of its
// players: the first 100, and the rank of a player anywhere, from hotshard, from a naive
// scatter and gather over the same index, and from a Redis sorted set. It needs
// redis-server (Debian's package of that name), which it starts and stops.
var Standings = rig.Program{Name: "standings", About: "reads of leaderboards, beside a scatter and gather and Redis", HeapMB: 2048, Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	most := f.Int("players", 1_000_000, "of the largest board; 1000 or more")
	return func(ctx context.Context, r *rig.Run) error {
		store, err := startRedis(ctx)
		if err != nil {
			return err
		}
		defer store.stop()
		fmt.Fprintf(r, standingsHead, shards)
		for players := 1000; players <= *most; players = next(players) {
			err := rig.With(ctx, r.Endpoint, limiter.Options{}, func(t *rig.Tables) error { return compare(ctx, r, t, store, players) })
			if err != nil {
				return fmt.Errorf("%d players: %w", players, err)
			}
		}
		return nil
	}
}}

const shards = 10

const standingsHead = `%d write shards. Scores are whole numbers below 1,000,000. "first" is the first 100,
"rank" that of players drawn by chance, with the error that the answer stated and the true
one beside it. hotshard is the query function's handler, called in this process; scatter is
the bare SDK: a query of each write shard, in parallel, of 100 entries each, or a count of
all entries before the player; redis is ZREVRANGE and ZREVRANK over loopback. Read units are
those that AWS would charge, per call. Fresh is the time from a score's answer until another
call of hotshard's shows it first, with a batching window of 0.1 s; scatter's is that of the
index, which lags by less than a second mostly, and Redis has it at once.

| players | way | call | calls | p50 | p99 | read units | stated error p50 | max | true error max | fresh p50 | max |
| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

// next skips 10,000: the shape shows without.
func next(players int) int {
	if players == 1000 {
		return 100_000
	}
	return players * 10
}

// standings are a filled board. What reads it does so through the meter.
type standings struct {
	*game
	ranked []int // players, the first in rank first
	rank   []int // by player, from 0
	folder *rollup.Handler
	api    handler
}

func compare(ctx context.Context, w io.Writer, t *rig.Tables, store *sortedSet, players int) error {
	r, err := newStandings(ctx, t, players)
	if err != nil {
		return err
	}
	if err := store.fill(r.game); err != nil {
		return err
	}
	fresh, err := r.freshness(ctx)
	if err != nil {
		return fmt.Errorf("freshness: %w", err)
	}
	return errors.Join(
		r.ask(ctx, w, "hotshard", r.api, fmt.Sprintf("%.0f ms | %.0f ms", millis(fresh, 0.5), millis(fresh, 1))),
		r.ask(ctx, w, "scatter", scatter{r.game, t.Meter.Client}, "|"),
		r.ask(ctx, w, "redis", store, "|"))
}

func newStandings(ctx context.Context, t *rig.Tables, players int) (*standings, error) {
	r := &standings{game: newGame(t, players, shards), rank: make([]int, players)}
	r.ranked = r.game.ranked()
	for rank, i := range r.ranked {
		r.rank[i] = rank
	}
	if err := r.stream(ctx, false); err != nil { // the engine slows down with each record of a stream
		return nil, err
	}
	if err := errors.Join(r.settle(ctx, top), r.fill(ctx)); err != nil {
		return nil, err
	}
	var err error
	if r.folder, err = t.Aggregator(t.DB, "HOTSHARD_BOARD_RECHECK=1m"); err != nil {
		return nil, err
	}
	if err := r.fold(ctx, r.folder); err != nil {
		return nil, err
	}
	settings, err := rig.Settings[query.Settings](t, "HOTSHARD_READ_DEADLINE=20s")
	if err != nil {
		return nil, err
	}
	service, err := query.New(settings, t.Meter.Client)
	if err != nil {
		return nil, err
	}
	r.api = handler{httpapi.New(rig.Silent, query.Routes(service))}
	return r, nil
}

func (r *standings) stream(ctx context.Context, on bool) error {
	spec := &types.StreamSpecification{StreamEnabled: &on}
	if on {
		spec.StreamViewType = types.StreamViewTypeNewAndOldImages
	}
	_, err := r.DB.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &r.Names.Items, StreamSpecification: spec})
	return err
}

// asked is how many calls are timed: fewer of those that take long.
const (
	asked   = 500
	minimum = 10
	budget  = 20 * time.Second
)

// timed makes calls until there are enough, or the time is up.
func timed(call func(n int) error) (times []time.Duration, err error) {
	for begin := time.Now(); len(times) < asked && (len(times) < minimum || time.Since(begin) < budget); {
		began := time.Now()
		if err := call(len(times)); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times, nil
}

// askFirst asks for the first, and holds the answer to the truth.
func (r *standings) askFirst(ctx context.Context, of way) error {
	players, err := of.first(ctx)
	if err != nil || len(players) != top {
		return fmt.Errorf("%d of %d: %w", len(players), top, err)
	}
	for n, got := range players {
		if want := player(r.ranked[n]); got != want {
			return fmt.Errorf("rank %d is %s, want %s", n+1, got, want)
		}
	}
	return nil
}

// ask prints a line for each of the two questions.
func (r *standings) ask(ctx context.Context, w io.Writer, name string, of way, fresh string) error {
	if err := r.askFirst(ctx, of); err != nil { // the connection, and the view of the shard map
		return fmt.Errorf("%s: the first: %w", name, err)
	}
	r.Meter.Limits.Reset()
	times, err := timed(func(int) error { return r.askFirst(ctx, of) })
	if err != nil {
		return fmt.Errorf("%s: the first: %w", name, err)
	}
	r.print(w, name, "first", times, "0 | 0 | 0", fresh)
	random := rand.New(rand.NewPCG(2, 0))
	var stated []int64
	var off int64
	r.Meter.Limits.Reset()
	times, err = timed(func(int) error {
		i := random.IntN(len(r.entries))
		rank, margin, err := of.rank(ctx, i)
		miss := max(rank-int64(r.rank[i]+1), int64(r.rank[i]+1)-rank)
		if err == nil && miss > margin {
			err = fmt.Errorf("rank of player %d: %d +- %d, and it is %d", i, rank, margin, r.rank[i]+1)
		}
		stated, off = append(stated, margin), max(off, miss)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: ranks: %w", name, err)
	}
	slices.Sort(stated)
	r.print(w, name, "rank", times, fmt.Sprintf("%d | %d | %d", stated[len(stated)/2], stated[len(stated)-1], off), "|")
	return nil
}

func (r *standings) print(w io.Writer, name, call string, times []time.Duration, errors, fresh string) {
	fmt.Fprintf(w, "| %d | %s | %s | %d | %.2f ms | %.2f ms | %.1f | %s | %s |\n", len(r.entries), name, call, len(times),
		millis(times, 0.5), millis(times, 0.99), r.Meter.Limits.Stats().ReadUnits/float64(len(times)), errors, fresh)
}

// millis is a quantile of sorted times.
func millis(sorted []time.Duration, q float64) float64 { return rig.Millis(rig.Quantile(sorted, q)) }
