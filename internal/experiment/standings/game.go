package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

const (
	name   = "game"
	period = "all"
	shards = 10
	points = 1_000_000 // scores are below
)

// begun is the rev of the first entries, in microseconds of the Unix epoch.
const begun = 1_790_000_000_000_000

// game is a board's players with their scores, the truth that answers are held to.
type game struct {
	scores []int
	ranked []int // players, the first in rank first
	rank   []int // by player, from 0
}

func newGame(players int) *game {
	random := rand.New(rand.NewPCG(1, uint64(players)))
	g := &game{scores: make([]int, players), ranked: make([]int, players), rank: make([]int, players)}
	for i := range players {
		g.scores[i], g.ranked[i] = random.IntN(points), i
	}
	slices.SortFunc(g.ranked, func(a, b int) int { // equal ones by time, which goes with the number
		if g.scores[a] != g.scores[b] {
			return g.scores[b] - g.scores[a]
		}
		return a - b
	})
	for rank, i := range g.ranked {
		g.rank[i] = rank
	}
	return g
}

func player(i int) string { return fmt.Sprintf("player-%08d", i) }

func rev(i int) int { return begun + 1000*i }

func (g *game) place(i int) boards.Place {
	score, _ := boards.ParseScore(strconv.Itoa(g.scores[i])) // a whole number is one
	return boards.Place{Player: player(i), Score: score, At: time.UnixMilli(int64(rev(i) / 1000)).UTC()}
}

func (g *game) item(i int) map[string]types.AttributeValue {
	place := g.place(i)
	pk, sk := schema.EntryKey(name, period, place.Player)
	return map[string]types.AttributeValue{
		schema.PK: text(pk), schema.SK: text(sk),
		schema.EntryScore: number(g.scores[i]), schema.EntryAt: number(rev(i) / 1000), schema.EntryRev: number(rev(i)),
		schema.BoardShard: text(schema.BoardShardKey(name, period, shard.Calculated(place.Player, shards))),
		schema.RankKey:    text(place.RankKey()),
	}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: strconv.Itoa(n)} }

// settle puts the board's settings and its shard count, which is as old as the board.
func settle(ctx context.Context, db *dynamodb.Client, names schema.Names) error {
	pk, sk := schema.SettingsKey(name)
	if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &names.Items, Item: map[string]types.AttributeValue{
		schema.PK: text(pk), schema.SK: text(sk), schema.BoardMode: text(string(boards.Latest)),
		schema.BoardSize: number(100), schema.BoardPeriods: text(period),
	}}); err != nil {
		return fmt.Errorf("putting the board's settings: %w", err)
	}
	return pin(ctx, db, names)
}

// fill writes all entries.
func (g *game) fill(ctx context.Context, db *dynamodb.Client, table string) error {
	const most = 25 // of one call
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for first := 0; first < len(g.scores); first += most {
		group.Go(func() error {
			var requests []types.WriteRequest
			for i := first; i < min(first+most, len(g.scores)); i++ {
				requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: g.item(i)}})
			}
			out, err := db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: requests}})
			if err == nil && len(out.UnprocessedItems) > 0 {
				err = fmt.Errorf("%d items were left", len(out.UnprocessedItems))
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("writing entries: %w", err)
	}
	return nil
}

// fold hands the entries' records to the aggregator, which makes the summaries.
func (g *game) fold(ctx context.Context, h *rollup.Handler) error {
	const most = 5000 // of one batch
	for first := 0; first < len(g.scores); first += most {
		var records []string
		for i := first; i < min(first+most, len(g.scores)); i++ {
			records = append(records, g.record(i))
		}
		out, err := h.Invoke(ctx, fmt.Appendf(nil,
			`{"Records":[%s],"window":{"start":"2026-09-21T12:00:00Z","end":"2026-09-21T12:00:10Z"},"state":{},"shardId":"shardId-fill"}`,
			strings.Join(records, ",")))
		if err != nil || strings.Contains(string(out), "itemIdentifier") {
			return fmt.Errorf("folding entries from %d on: %s %w", first, out, err)
		}
	}
	return nil
}

func (g *game) record(i int) string {
	pk, sk := schema.EntryKey(name, period, player(i))
	keys := fmt.Sprintf(`"pk":{"S":%q},"sk":{"S":%q}`, pk, sk)
	return fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"Keys":{%s},"SequenceNumber":"%d","NewImage":{%s,"score":{"N":"%d"},"at":{"N":"%d"},"rev":{"N":"%d"}}}}`,
		keys, i+1, keys, g.scores[i], rev(i)/1000, rev(i))
}
