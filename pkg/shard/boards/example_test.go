package boards_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// A board of a game counts each player's best score. It is read from an index, which on AWS is updated a moment after
// Submit.
func Example() {
	ctx, now := context.Background(), time.Now()
	client := libtest.ExampleTables()
	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
	rankings := boards.New(client, "hotshard-items", shards, boards.Options{})
	settings := boards.Settings{Mode: boards.Best, Periods: []boards.Period{boards.AllTime, boards.Daily}}
	fmt.Println(rankings.Configure(ctx, "game/1", settings))

	var scores []boards.PlayerScore
	for _, played := range [][2]string{{"ann", "12.5"}, {"bob", "9"}, {"cid", "31"}, {"dan", "4"}, {"ann", "7"}} {
		score, err := boards.ParseScore(played[1])
		if err != nil {
			fmt.Println(err)
		}
		scores = append(scores, boards.PlayerScore{Player: played[0], Score: score})
	}
	fmt.Println(errors.Join(rankings.Submit(ctx, "game/1", scores, now)...))

	allTime := boards.AllTime.Label(now)
	first, err := rankings.Top(ctx, "game/1", allTime, 2, now)
	for i, place := range first {
		fmt.Println(i+1, place.Player, place.Score, err)
	}

	bob, err := rankings.Entry(ctx, "game/1", allTime, "bob", now)
	fmt.Println("bob has", bob.Score, err)
	better, _, err := rankings.Count(ctx, "game/1", allTime, "", bob.RankKey(), math.MaxInt, now)
	fmt.Println(better, "players are better", err)
	above, _, err := rankings.Around(ctx, "game/1", allTime, bob.Place, 1, now)
	for _, place := range above {
		fmt.Println(place.Player, "is above bob", err)
	}
	// Output:
	// <nil>
	// <nil>
	// 1 cid 31 <nil>
	// 2 ann 12.5 <nil>
	// bob has 9 <nil>
	// 2 players are better <nil>
	// ann is above bob <nil>
}
