package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// players are many, since each one's entry is on one partition of the table, which
// is to take its part easily: the storm is about the partitions of the index.
const players = 1000

func (st *storm) player() string { return "player-" + strconv.Itoa(rand.IntN(players)) }

// prepare has the board add scores up, so that every score changes its entry.
func (st *storm) prepare(ctx context.Context) error {
	if st.Kind != "board" {
		return nil
	}
	body := fmt.Sprintf(`{"board":%q,"mode":"sum","size":100,"periods":["all"]}`, key)
	status, err := st.send(ctx, http.MethodPut, "/v1/leaderboards", body, nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("setting up the board: %d", status)
	}
	return err
}

// scores is the sum of all players' scores, each of which counts one, as the index
// has them: read past the limiter, and not from the top, which has the first only.
func (st *storm) scores(ctx context.Context) (int, error) {
	client, names := local.DynamoDB(st.system.Endpoint(), ""), schema.NamesFor(prefix)
	boards := ddb.NewLeaderboards(client, names.Items, ddb.NewMap(client, names.ShardMap), ddb.Unwatched{}, 0)
	now := time.Now()
	places, err := boards.Top(ctx, key, ddb.AllTime.Label(now), 2*players, now)
	if err != nil {
		return 0, fmt.Errorf("reading the board: %w", err)
	}
	sum := 0
	for _, p := range places {
		n, err := strconv.Atoi(p.Score.String())
		if err != nil {
			return 0, fmt.Errorf("score of %s: %w", p.Player, err)
		}
		sum += n
	}
	return sum, nil
}
