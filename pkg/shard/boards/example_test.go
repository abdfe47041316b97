package boards_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// A board returns its first places in order.
func ExampleBoards() {
	ctx, now := context.Background(), time.Now()
	client := libtest.ExampleTables()
	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
	rankings := boards.New(client, "hotshard-items", shards, boards.Options{})
	var scores []boards.PlayerScore
	for player, points := range map[string]string{"ann": "12.5", "bob": "9", "cid": "31"} {
		score, err := boards.ParseScore(points)
		if err != nil {
			fmt.Println(err)
		}
		scores = append(scores, boards.PlayerScore{Player: player, Score: score})
	}
	fmt.Println(errors.Join(rankings.Submit(ctx, "game/1", scores, now)...))
	first, err := rankings.Top(ctx, "game/1", boards.AllTime.Label(now), 2, now)
	for _, place := range first {
		fmt.Println(place.Player, place.Score, err)
	}
	// Output:
	// <nil>
	// cid 31 <nil>
	// ann 12.5 <nil>
}
