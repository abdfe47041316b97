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
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// What is measured.
const (
	name      = "hot"
	players   = 5000
	batchSize = 50
	batches   = 100 // of each setting
	seed      = 1
)

// entry is a player's, as it is stored.
type entry struct {
	points, rev int
}

// millis is the time of the entry.
func (e entry) millis() int64 { return int64(e.rev / 1000) }

// game is the board's entries.
type game struct {
	db      *dynamodb.Client
	table   string
	random  *rand.Rand
	entries []entry
	number  int // of records
}

func player(i int) string { return fmt.Sprintf("player-%06d", i) }

func (g *game) place(i int) boards.Place {
	e := g.entries[i]
	score, _ := boards.ParseScore(strconv.Itoa(e.points)) // a whole number is one
	return boards.Place{Player: player(i), Score: score, At: time.UnixMilli(e.millis()).UTC()}
}

// ranked returns all places in rank.
func (g *game) ranked() []boards.Place {
	list := make([]boards.Place, len(g.entries))
	for i := range g.entries {
		list[i] = g.place(i)
	}
	slices.SortFunc(list, board.Compare)
	return list
}

func (g *game) item(i int) map[string]types.AttributeValue {
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(n int) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
	}
	e, place := g.entries[i], g.place(i)
	pk, sk := schema.EntryKey(name, "all", place.Player)
	return map[string]types.AttributeValue{
		schema.PK: text(pk), schema.SK: text(sk),
		schema.EntryScore: number(e.points), schema.EntryAt: number(int(e.millis())), schema.EntryRev: number(e.rev),
		schema.BoardShard: text(schema.BoardShardKey(name, "all", 0)), schema.RankKey: text(place.RankKey()),
	}
}

// fill writes all players, and returns their records.
func (g *game) fill(ctx context.Context) ([]string, error) {
	g.entries = make([]entry, players)
	var records []string
	var requests []types.WriteRequest
	for i := range g.entries {
		records = append(records, g.score(i, g.random.IntN(1_000_000)))
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: g.item(i)}})
	}
	const most = 25 // of one call
	for first := 0; first < len(requests); first += most {
		part := requests[first:min(first+most, len(requests))]
		if _, err := g.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{g.table: part}}); err != nil {
			return nil, fmt.Errorf("writing players: %w", err)
		}
	}
	return records, nil
}

// score changes a player's entry, and returns the record of that.
func (g *game) score(i, points int) string {
	pk, sk := schema.EntryKey(name, "all", player(i))
	keys := fmt.Sprintf(`"pk":{"S":%q},"sk":{"S":%q}`, pk, sk)
	image := func(e entry) string {
		return fmt.Sprintf(`{%s,"score":{"N":"%d"},"at":{"N":"%d"},"rev":{"N":"%d"}}`, keys, e.points, e.millis(), e.rev)
	}
	old := g.entries[i]
	g.number++
	g.entries[i] = entry{points, 1_790_000_000_000_000 + g.number}
	if old.rev > 0 {
		g.entries[i].rev = old.rev + 1
	}
	kind, before := "INSERT", ""
	if old.rev > 0 {
		kind, before = "MODIFY", `"OldImage":`+image(old)+","
	}
	return fmt.Sprintf(`{"eventName":%q,"dynamodb":{"Keys":{%s},"SequenceNumber":"%d",%s"NewImage":%s}}`, kind, keys, g.number, before, image(g.entries[i]))
}

// round has players score, and returns a batch for each stream shard.
func (g *game) round(ctx context.Context, streams int, first []int) ([][]byte, error) {
	records := make([][]string, streams)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	changed := map[int]bool{}
	for full := 0; full < streams; {
		i := g.random.IntN(players)
		if len(first) > 0 && g.random.IntN(10) == 0 {
			i = first[g.random.IntN(len(first))]
		}
		stream := shard.Calculated(player(i), streams)
		if changed[i] || len(records[stream]) == batchSize {
			continue
		}
		changed[i] = true
		records[stream] = append(records[stream], g.score(i, g.random.IntN(1_000_000)))
		if len(records[stream]) == batchSize {
			full++
		}
		item := g.item(i)
		group.Go(func() error {
			_, err := g.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &g.table, Item: item})
			return err
		})
	}
	payloads := make([][]byte, streams)
	for i, list := range records {
		payloads[i] = payload(i, list)
	}
	return payloads, group.Wait()
}

// payload is a delivery of a stream shard.
func payload(stream int, records []string) []byte {
	return fmt.Appendf(nil, `{"Records":[%s],"window":{"start":"2026-01-05T12:00:00Z","end":"2026-01-05T12:00:10Z"},"state":{},"shardId":"shardId-%d"}`,
		strings.Join(records, ","), stream)
}
