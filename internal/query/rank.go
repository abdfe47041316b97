package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

type rankInput struct {
	Board  httpapi.Name  `query:"board" required:"true" example:"game/1"`
	Player httpapi.Name  `query:"player" required:"true" example:"ann"`
	Period boards.Period `query:"period" enum:"all,day,week,month" default:"all" doc:"All time, the current UTC day, ISO week or month. A period that the board does not keep, and has no entries of, is a 422"`
	Around int           `query:"around" minimum:"0" maximum:"100" default:"2" doc:"Number of neighbours on each side"`
}

type rankOutput struct {
	Body struct {
		Player    httpapi.Name  `json:"player"`
		Score     httpapi.Score `json:"score"`
		Rank      int64         `json:"rank" doc:"1 is the best. If too many scores are not folded yet to determine the rank, the answer is a 503"`
		RankError int64         `json:"rank_error" doc:"Maximum error of the rank, up or down; 0 if the rank is exact. It holds for the scores in the rank: see as_of"`
		AsOf      string        `json:"as_of" format:"date-time" doc:"Time of the last fold in the rank. Later scores may be missing, and some of shortly before, because stream shards are folded independently. If the whole rank was counted in the index, as_of is the time of the read; the index has most scores within a second"`
		Neighbors []placeAnswer `json:"neighbors" doc:"Entries before and after the player, sorted by rank. Their order is exact; their ranks have the player's rank_error"`
	}
}

// getRank returns a player's entry, which it reads consistently, with its rank and neighbours.
func (r *boardReader) getRank(ctx context.Context, in *rankInput, now time.Time) (*rankOutput, error) {
	name, period := string(in.Board), in.Period.Label(now)
	held, err := r.entries.Entry(ctx, name, period, string(in.Player), now)
	if errors.Is(err, shard.ErrNotFound) {
		return nil, cmp.Or(r.checkPeriod(ctx, name, in.Period), httpapi.Absent("player %q has no score on board %q in the period %s", in.Player, name, in.Period))
	} else if err != nil {
		return nil, err
	}
	board := boardState{name: name, period: period, now: now}
	if board.top, board.at, err = r.readTop(ctx, name, period); err != nil {
		return nil, fmt.Errorf("reading the top of board %q: %w", name, dynamo.Classify(err))
	}
	player, above, below, err := r.rankWithNeighbors(ctx, board, held.Place, in.Around)
	if errors.Is(err, errNotFolded) {
		return nil, httpapi.Problem(ctx, err, "too many of the board's newest scores are not counted yet to determine the rank: retry in some seconds")
	} else if err != nil {
		return nil, fmt.Errorf("ranking a player of board %q: %w", name, dynamo.Classify(err))
	}
	out := &rankOutput{}
	out.Body.Player, out.Body.Score = in.Player, httpapi.Score{Score: held.Score}
	out.Body.Rank, out.Body.RankError, out.Body.AsOf = player.rank, player.margin, httpapi.FormatTime(player.at)
	out.Body.Neighbors = append(placeAnswers(above, player.rank-int64(len(above))), placeAnswers(below, player.rank+1)...)
	return out, nil
}

// standing is a player's rank.
type standing struct {
	rank, margin int64     // the true rank is in rank ± margin
	late         int64     // number of outdated rows of the index; each may shift a count in the index by one
	at           time.Time // the rank is as of at
}

// boardState is the stored state of a board's period.
type boardState struct {
	name, period string
	top          *parts.Top // nil if there is none
	at           time.Time  // of the top
	now          time.Time
}

// rankWithNeighbors ranks a player, and returns up to around neighbours on each side. The rank is exact if the stored
// top has the player at this place. Neighbours come from the top if it has them all, else from the index. Those from
// the index may be newer than the last fold, so the rank is raised, if needed, to one more than their number above.
func (r *boardReader) rankWithNeighbors(ctx context.Context, board boardState, place boards.Place, around int) (found standing, above, below []boards.Place, err error) {
	inTop := board.top != nil && hasPlace(board.top, place)
	if inTop {
		ahead, above, below, all := board.top.Neighbours(place, around)
		found = standing{rank: int64(ahead) + 1, at: board.at}
		if all {
			return found, above, below, nil
		}
	} else {
		found, err = r.rankWithCachedHistogram(ctx, board, place)
		if err != nil || around == 0 {
			return found, nil, nil, err
		}
	}
	above, below, err = r.entries.Around(ctx, board.name, board.period, place, around, board.now)
	if err != nil {
		return found, nil, nil, err
	}
	minRank := int64(len(above)) + 1
	if !inTop && len(above) < around { // above has all entries before the player
		found = standing{rank: minRank, margin: found.late, late: found.late, at: board.now}
	}
	if found.rank < minRank {
		found.rank, found.margin = minRank, max(found.margin, found.late)
	}
	return found, above, below, nil
}

// hasPlace reports whether a top has the player at this place.
func hasPlace(top *parts.Top, place boards.Place) bool {
	return slices.ContainsFunc(top.Entries(), func(e parts.TopEntry) bool {
		return e.Player == place.Player && parts.ComparePlaces(e.Place, place) == 0
	})
}

// Bounds of the index entries that are counted for one rank.
const (
	// maxCounted bounds the entries by the histogram. In a cell with more of them, the rank is the cell's middle.
	maxCounted = 1000

	// maxRead bounds the entries that are read. The index may have more of them than the histogram, which lacks scores
	// that are not folded yet.
	maxRead = 10 * maxCounted
)

// errNotFolded means that the histogram lacks too many scores to determine a rank.
var errNotFolded = fmt.Errorf("%w: scores are not folded yet", shard.ErrUnavailable)

// histogram is the sum of the fragments of a period's histogram.
type histogram struct {
	parts.Histogram
	fragments int
	at        time.Time // of their last fold
	read      time.Time // by the wall clock, which runs on in a frozen process
}

// A read of a histogram consumes a third of a read unit for each fragment. If there are more than fewFragments, it is
// cached for maxHistogramAge.
const (
	fewFragments    = 8
	maxHistogramAge = 10 * time.Second
	maxHistograms   = 16 << 20 // bytes of cached histograms
)

func newHistogramCache() dynamo.Cache[histogram] {
	const overhead, cell = 300, 40 // bytes
	return dynamo.NewWeightedCache(maxHistograms, func(_ string, h histogram) uint32 { return uint32(overhead + cell*h.Cells()) })
}

// rankWithCachedHistogram ranks a player by the cached histogram. It reads the histogram if none is cached, or if the
// cached histogram lacks too many scores.
func (r *boardReader) rankWithCachedHistogram(ctx context.Context, board boardState, place boards.Place) (standing, error) {
	key := schema.BoardRollupKey(board.name, board.period)
	if cached, ok := r.histograms.Get(key); ok && board.now.Sub(cached.read).Abs() < maxHistogramAge {
		if found, err := r.rankInHistogram(ctx, board, place, cached); !errors.Is(err, errNotFolded) {
			return found, err
		}
	}
	read, err := r.readHistogram(ctx, board)
	if err != nil {
		return standing{}, err
	}
	if read.fragments > fewFragments {
		r.histograms.Set(key, read)
	}
	return r.rankInHistogram(ctx, board, place, read)
}

// rankInHistogram ranks a player by a histogram. It returns errNotFolded if the histogram lacks too many scores.
//
// If few entries are before the player, they are counted in the index, which needs no fold. Otherwise the histogram
// counts the entries in higher cells, and the index counts the entries before the player in the player's cell.
// The cell's entries are not counted if they are too many, if the index has outdated rows, or if the histogram has so many
// fragments that it is cached. Then the rank is the middle of the cell. Its error is half of the cell, and one more.
func (r *boardReader) rankInHistogram(ctx context.Context, board boardState, place boards.Place, sums histogram) (standing, error) {
	late, cell := max(0, sums.Late()), sums.Locate(place.Merit())
	if cell.Above+cell.Own <= maxCounted {
		n, more, err := r.entries.Count(ctx, board.name, board.period, "", place.RankKey(), maxRead, board.now)
		if more {
			err = fmt.Errorf("%w: the index has more than %d entries before the player, the histogram at most %d", errNotFolded, maxRead, cell.Above+cell.Own)
		}
		return standing{rank: int64(n) + 1, margin: late, late: late, at: board.now}, err
	}
	middle := standing{late: late, at: sums.at}
	middle.rank, middle.margin = cell.Rank()
	middle.margin++ // the player may not be in the cell yet
	if cell.Own > maxCounted || sums.fragments > fewFragments || late > 0 {
		return middle, nil
	}
	n, more, err := r.entries.Count(ctx, board.name, board.period, cell.From, place.RankKey(), maxRead, board.now)
	if err != nil || more { // the histogram lacks too many entries of the index
		return middle, err
	}
	counted := standing{rank: cell.Above + int64(n) + 1, late: late, at: sums.at}
	mayFall, err := r.scoresMayFall(ctx, board.name)
	if mayFall { // the histogram may still have an older score of the player, in a higher cell
		counted.margin = 1
	}
	return counted, err
}

// scoresMayFall reports whether scores may get worse: not in mode best (the default) or lowest; without settings, yes.
func (r *boardReader) scoresMayFall(ctx context.Context, name string) (bool, error) {
	settings, err := r.readSettings(ctx, name)
	if err != nil || settings == nil {
		return true, err
	}
	mode := boards.Mode(dynamo.Text(settings, schema.BoardMode))
	return mode != "" && mode != boards.Best && mode != boards.Lowest, nil
}

// readHistogram returns the sum of the histogram's fragments of a board's period.
func (r *boardReader) readHistogram(ctx context.Context, board boardState) (sum histogram, err error) {
	sum.read = board.now.Round(0)
	var mu sync.Mutex
	add := func(item dynamo.Item) error {
		part, err := parts.HistogramPart(item, board.now)
		if part != nil {
			mu.Lock()
			defer mu.Unlock()
			sum.Merge(part.Value)
			sum.fragments++
			sum.at = heat.MaxTime(sum.at, part.AsOf)
		}
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, pk := range schema.HistogramPartitions(board.name, board.period) {
		group.Go(func() error {
			stored := dynamo.Items(ctx, r.client, &dynamodb.QueryInput{
				TableName: &r.rollups, KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :parts)"),
				ExpressionAttributeValues: dynamo.Item{":pk": dynamo.String(pk), ":parts": dynamo.String(schema.HistogramPrefix)},
			})
			for item, err := range stored {
				if err == nil {
					err = add(item)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = group.Wait()
	return sum, err
}
