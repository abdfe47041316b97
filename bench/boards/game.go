// Package boards measures leaderboards: what folds of a hot one cost, and what its
// callers wait and pay for, beside a scatter and gather over the same index and a Redis
// sorted set.
package boards

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

const (
	name   = "game"
	period = "all"
	points = 1_000_000 // scores are whole numbers below
	begun  = 1_790_000_000_000_000
)

// entry is a player's. Its rev begins as a time in microseconds, a millisecond apart from
// others'.
type entry struct{ points, rev int }

func (e entry) millis() int { return e.rev / 1000 }

// game is a board's entries, the truth that answers are held to.
type game struct {
	*rig.Tables
	shards  int // write shards in the index
	random  *rand.Rand
	entries []entry
	number  int // of records so far
}

func newGame(t *rig.Tables, players, shards int) *game {
	g := &game{Tables: t, shards: shards, random: rand.New(rand.NewPCG(1, uint64(players))), entries: make([]entry, players)}
	for i := range g.entries {
		g.entries[i] = entry{g.random.IntN(points), begun + 1000*i}
	}
	return g
}

func player(i int) string { return fmt.Sprintf("player-%08d", i) }

// ranked are the players, the first in rank first; equal ones by time.
func (g *game) ranked() []int {
	all := make([]int, len(g.entries))
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(a, b int) int {
		x, y := g.entries[a], g.entries[b]
		return cmp.Or(y.points-x.points, x.rev-y.rev)
	})
	return all
}

func (g *game) place(i int) boards.Place {
	e := g.entries[i]
	score, _ := boards.ParseScore(strconv.Itoa(e.points)) // a whole number is one
	return boards.Place{Player: player(i), Score: score, At: time.UnixMilli(int64(e.millis())).UTC()}
}

func (g *game) item(i int) rig.Item {
	e, place := g.entries[i], g.place(i)
	it := rig.Key(schema.EntryKey(name, period, place.Player))
	it[schema.EntryScore], it[schema.EntryAt], it[schema.EntryRev] = rig.N(e.points), rig.N(e.millis()), rig.N(e.rev)
	it[schema.BoardShard] = rig.S(schema.BoardShardKey(name, period, shard.Calculated(place.Player, g.shards)))
	it[schema.RankKey] = rig.S(place.RankKey())
	return it
}

// record is an entry's change in the stream; the zero old entry is none.
func (g *game) record(i int, old entry) string {
	g.number++
	pk, sk := schema.EntryKey(name, period, player(i))
	keys := fmt.Sprintf(`"pk":{"S":%q},"sk":{"S":%q}`, pk, sk)
	image := func(e entry) string {
		return fmt.Sprintf(`{%s,"score":{"N":"%d"},"at":{"N":"%d"},"rev":{"N":"%d"}}`, keys, e.points, e.millis(), e.rev)
	}
	kind, before := "INSERT", ""
	if old.rev > 0 {
		kind, before = "MODIFY", `"OldImage":`+image(old)+","
	}
	return fmt.Sprintf(`{"eventName":%q,"dynamodb":{"Keys":{%s},"SequenceNumber":"%d",%s"NewImage":%s}}`, kind, keys, g.number, before, image(g.entries[i]))
}

// settle puts the board's settings and its shard count, which is as old as the board.
func (g *game) settle(ctx context.Context, size int) error {
	it := rig.Key(schema.SettingsKey(name))
	it[schema.BoardMode], it[schema.BoardSize], it[schema.BoardPeriods] = rig.S(string(boards.Latest)), rig.N(size), rig.S(period)
	if _, err := g.DB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &g.Names.Items, Item: it}); err != nil {
		return fmt.Errorf("putting the board's settings: %w", err)
	}
	if g.shards == 1 {
		return nil
	}
	return g.Pin(ctx, schema.BaseKey{Type: schema.Board, Name: name}, g.shards, time.Now())
}

// fill writes all entries.
func (g *game) fill(ctx context.Context) error {
	const most = 25 // of one call
	err := rig.Together(ctx, (len(g.entries)+most-1)/most, func(ctx context.Context, n int) error {
		var requests []types.WriteRequest
		for i := n * most; i < min((n+1)*most, len(g.entries)); i++ {
			requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: g.item(i)}})
		}
		out, err := g.DB.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{g.Names.Items: requests}})
		if err == nil && len(out.UnprocessedItems) > 0 {
			err = fmt.Errorf("%d items were left", len(out.UnprocessedItems))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("writing entries: %w", err)
	}
	return nil
}

// fold hands the entries' records to the aggregator, which makes the summaries.
func (g *game) fold(ctx context.Context, h eventsource.Handler) error {
	var records []string
	for i := range g.entries {
		records = append(records, g.record(i, entry{}))
		if len(records) == 5000 || i == len(g.entries)-1 {
			if err := rig.Deliver(ctx, h, rig.Payload("shardId-fill", records)); err != nil {
				return fmt.Errorf("folding entries up to %d: %w", i, err)
			}
			records = nil
		}
	}
	return nil
}
