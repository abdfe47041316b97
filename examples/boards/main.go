// Command boards keeps the leaderboard of a game. It reads the top of all time and one player's rank. A player's best
// score counts:
//
//	place 1: cid with 31
//	place 2: ann with 12.5
//	bob has place 3, behind ann
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := play(ctx, dynamodb.NewFromConfig(cfg, quiet), time.Now()); err != nil {
		log.Fatal(err)
	}
}

func play(ctx context.Context, client *dynamodb.Client, now time.Time) error {
	names := setup.WithPrefix("examples-")
	if err := setup.Create(ctx, client, names); err != nil {
		return err
	}
	shards := shardmap.New(client, names.ShardMap, shardmap.Options{})
	rankings := boards.New(client, names.Items, shards, boards.Options{})
	settings := boards.Settings{Mode: boards.Best, Periods: []boards.Period{boards.AllTime, boards.Daily}}
	if err := rankings.Configure(ctx, "game/1", settings); err != nil {
		return err
	}
	var scores []boards.PlayerScore
	for _, played := range [][2]string{{"ann", "12.5"}, {"bob", "9"}, {"cid", "31"}, {"dan", "4"}, {"ann", "7"}} {
		score, err := boards.ParseScore(played[1])
		if err != nil {
			return err
		}
		scores = append(scores, boards.PlayerScore{Player: played[0], Score: score})
	}
	if err := errors.Join(rankings.Submit(ctx, "game/1", scores, now)...); err != nil {
		return err
	}

	allTime := boards.AllTime.Label(now)
	first, err := await(ctx, rankings, allTime, 4, now)
	if err != nil {
		return err
	}
	for i, place := range first[:2] {
		fmt.Printf("place %d: %s with %v\n", i+1, place.Player, place.Score)
	}

	bob, err := rankings.Entry(ctx, "game/1", allTime, "bob", now)
	if err != nil {
		return err
	}
	better, _, err := rankings.Count(ctx, "game/1", allTime, "", bob.RankKey(), math.MaxInt, now)
	if err != nil {
		return err
	}
	above, _, err := rankings.Around(ctx, "game/1", allTime, bob.Place, 1, now)
	if err != nil {
		return err
	}
	if len(above) == 0 {
		return errors.New("the index does not have who is above bob yet")
	}
	fmt.Printf("bob has place %d, behind %s\n", better+1, above[0].Player)
	return nil
}

// await reads a ranking until it has so many players, for up to ten seconds. An index on AWS is updated a moment after
// Submit.
func await(ctx context.Context, rankings *boards.Boards, label string, players int, now time.Time) ([]boards.Place, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		all, err := rankings.Top(ctx, "game/1", label, players, now)
		if err != nil || len(all) == players {
			return all, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// quiet prevents a warning for each error of DynamoDB Local, which sends no checksum with errors.
func quiet(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }
