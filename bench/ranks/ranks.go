// Package ranks measures the read units of GET /v1/leaderboards/rank on a large board:
//
//	go -C bench run . ranks
//
// The histogram counts all players. Only the entries that the calls read are stored: the best ones, and those of the
// cells in which entries are counted.
package ranks

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

const (
	board   = "game"
	topSize = 120  // places of the stored top
	counted = 1000 // entries before a player, up to which query counts them in the index
	nearby  = 5    // stored entries on each side of a player
)

// ranksRead are the ranks that are read: in the top, counted from the best entry on, and by the histogram.
var ranksRead = []int{51, topSize, 501, 901, 3_001, 6_001, 100_001, 500_001, 900_001}

// Program is the experiment.
var Program = rig.Program{Name: "ranks", About: "read units of a rank on a large board", Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	players := f.Int("players", 1_000_000, "players of the board")
	fragments := f.Int("fragments", 4, "stream shards, each with a fragment of the histogram")
	seed := f.Uint64("seed", 1, "selects the scores")
	return func(ctx context.Context, r *rig.Run) error {
		if *players < counted || *fragments < 1 {
			return fmt.Errorf("want at least %d players and 1 fragment", counted)
		}
		return measure(ctx, r, exponentialScores(*players, *seed), *fragments)
	}
}}

// exponentialScores returns scores of three decimals with a mean of 1,000, the best first.
func exponentialScores(n int, seed uint64) []float64 {
	random := rand.New(rand.NewPCG(seed, 0))
	scores := make([]float64, n)
	for i := range scores {
		scores[i] = -random.ExpFloat64() * 1000
	}
	slices.Sort(scores)
	for i := range scores {
		scores[i] = -scores[i]
	}
	return scores
}

func measure(ctx context.Context, w io.Writer, scores []float64, fragments int) error {
	engine, err := dynamolocal.StartEngine(ctx, dynamolocal.Options{Notice: os.Stderr})
	if err != nil {
		return err
	}
	defer engine.Stop()
	db, names := dynamolocal.DynamoDB(engine.Endpoint(), ""), schema.NamesFor("ranks-")
	if err := dynamolocal.CreateTables(ctx, db, names); err != nil {
		return err
	}
	b := largeBoard{client: db, names: names, now: time.Now()}
	if b.places, err = placesOf(scores, b.now); err != nil {
		return err
	}
	if err := errors.Join(b.putHistogram(ctx, fragments), b.putEntries(ctx), b.putTop(ctx)); err != nil {
		return err
	}
	fmt.Fprintln(w, "| rank | rank_error | entries counted | read units, first call | again | with around=2 |\n| ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, rank := range ranksRead {
		if rank <= len(scores) {
			if err := b.printCosts(ctx, w, rank); err != nil {
				return fmt.Errorf("rank %d: %w", rank, err)
			}
		}
	}
	return nil
}

// printCosts prints a row of the table: the costs of calls for one player's rank, in a new container.
func (b largeBoard) printCosts(ctx context.Context, w io.Writer, rank int) error {
	reads := &meter{Client: b.client}
	service, err := query.New(query.Settings{
		ItemsTable: b.names.Items, EventsTable: b.names.Events, RollupsTable: b.names.Rollups, HeatTable: b.names.Heat, ShardMapTable: b.names.ShardMap,
	}, reads)
	if err != nil {
		return err
	}
	if err := service.Load(ctx); err != nil {
		return err
	}
	handler := httpapi.New(slog.New(slog.DiscardHandler), query.Routes(service))
	for call, around := range []int{0, 0, 2} {
		reads.reset()
		recorder := httptest.NewRecorder()
		path := fmt.Sprintf("/v1/leaderboards/rank?board=%s&player=%s&around=%d", board, player(rank), around)
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
		found, err := parseAnswer(recorder)
		if err != nil {
			return err
		}
		if off := found.Rank - rank; max(off, -off) > found.RankError {
			return fmt.Errorf("the answer is %d with an error of %d", found.Rank, found.RankError)
		}
		if call == 0 {
			fmt.Fprintf(w, "| %d | %d | %d ", rank, found.RankError, reads.counted)
		}
		fmt.Fprintf(w, "| %.1f ", reads.units)
	}
	fmt.Fprintln(w, "|")
	return nil
}

// player returns the name of the player with this rank.
func player(rank int) string { return fmt.Sprintf("player%07d", rank) }

// placesOf returns the places of these scores, the best first.
func placesOf(scores []float64, at time.Time) ([]boards.Place, error) {
	places := make([]boards.Place, len(scores))
	for i, f := range scores {
		score, err := boards.ParseScore(strconv.FormatFloat(f, 'f', 3, 64))
		if err != nil {
			return nil, err
		}
		places[i] = boards.Place{Player: player(i + 1), Score: score, At: at}
	}
	return places, nil
}
