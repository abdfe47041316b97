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
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

type rankInput struct {
	Board  httpapi.Name  `query:"board" required:"true" example:"game/1"`
	Player httpapi.Name  `query:"player" required:"true" example:"ann"`
	Period boards.Period `query:"period" enum:"all,day,week" default:"all" doc:"All time, the current UTC day or the current ISO week. A period that the board does not keep, and has no entries of, is a 422"`
	Around int           `query:"around" minimum:"0" maximum:"100" default:"2" doc:"Number of neighbours on each side"`
}

type rankOutput struct {
	Body struct {
		Player    httpapi.Name  `json:"player"`
		Score     httpapi.Score `json:"score"`
		Rank      int64         `json:"rank" doc:"1 is the best. If too many scores are not folded yet to determine the rank, the answer is a 503"`
		RankError int64         `json:"rank_error" doc:"Maximum error of the rank, up or down; 0 if the rank is exact. It holds for the scores in the rank: see as_of"`
		AsOf      string        `json:"as_of" format:"date-time" doc:"The last fold that is in the rank: scores accepted later may be missing in it, and so may some accepted shortly before, since each stream shard is folded by itself and others may be behind the one of that fold. Now, where the whole rank was counted in the index, which has a score mostly within a second"`
		Neighbors []placeAnswer `json:"neighbors" doc:"Entries before and after the player, sorted by rank. Their order is exact; their ranks have the player's rank_error"`
	}
}

// getRank returns a player's entry, read consistently, and its rank.
func (r *boardReader) getRank(ctx context.Context, in *rankInput, now time.Time) (*rankOutput, error) {
	name, period := string(in.Board), in.Period.Label(now)
	held, err := r.entries.Entry(ctx, name, period, string(in.Player), now)
	if errors.Is(err, shard.ErrNotFound) {
		return nil, cmp.Or(r.keeps(ctx, name, in.Period), err)
	} else if err != nil {
		return nil, err
	}
	v, err := r.view(ctx, name, period, now)
	if err != nil {
		return nil, fmt.Errorf("reading the top of board %q, and the sum of its histogram: %w", name, dynamo.Kind(err))
	}
	st, above, below, err := r.rankAmong(ctx, v, held.Place, in.Around)
	if errors.Is(err, errNotFolded) {
		return nil, httpapi.ProblemWith(ctx, err, "the board's scores are not folded yet: too many are before the player to be counted")
	} else if err != nil {
		return nil, fmt.Errorf("ranking a player of board %q: %w", name, dynamo.Kind(err))
	}
	out := &rankOutput{}
	out.Body.Player, out.Body.Score = in.Player, httpapi.Score{Score: held.Score}
	out.Body.Rank, out.Body.RankError, out.Body.AsOf = st.rank, st.margin, httpapi.FormatTime(st.at)
	out.Body.Neighbors = append(show(above, st.rank-int64(len(above))), show(below, st.rank+1)...)
	return out, nil
}

// standing is a player's rank, its largest error, and the time that it is of. late is how many rows of
// the index are outdated, each of which shifts a count there by one at most.
type standing struct {
	rank, margin, late int64
	at                 time.Time
}

// view is the state of a board's period for one request.
type view struct {
	board, period string
	top           *board.Top                   // nil if there is none
	at            time.Time                    // of the top
	sum           *parts.Part[board.Histogram] // nil if none counts
	now           time.Time
}

// view reads the top of a board's period, and the sum of its histogram.
func (r *boardReader) view(ctx context.Context, name, period string, now time.Time) (v view, err error) {
	v = view{board: name, period: period, now: now}
	stored := dynamo.Items(ctx, r.client, &dynamodb.QueryInput{
		TableName: &r.rollups, KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: dynamo.Item{":pk": dynamo.String(schema.BoardRollupKey(name, period))},
	})
	for item, err := range stored {
		switch {
		case err != nil:
		case dynamo.Text(item, schema.SK) == schema.SumSK:
			if sum, err := parts.HistogramPart(item, now); err == nil { // else the fragments count; an audit reports it
				v.sum = sum
			}
		case dynamo.Text(item, schema.SK) == schema.TopSK:
			v.top, err = board.StoredTop(item)
			v.at = asOf(item)
		}
		if err != nil {
			return v, err
		}
	}
	return v, nil
}

// rankAmong ranks a player. If the stored top has the newest score, the rank is exact. It also
// returns the neighbours, from the top if that has them all, otherwise from the index. Neighbours
// may be newer than the last fold, so they set a lower bound on the rank.
func (r *boardReader) rankAmong(ctx context.Context, v view, place boards.Place, around int) (st standing, above, below []boards.Place, err error) {
	held := v.top != nil && has(v.top, place)
	if held {
		ahead, above, below, all := v.top.Around(place, around)
		st = standing{rank: int64(ahead) + 1, at: v.at}
		if all {
			return st, above, below, nil
		}
	} else if st, err = r.rank(ctx, v, place); err != nil || around == 0 {
		return st, nil, nil, err
	}
	if above, below, err = r.entries.Around(ctx, v.board, v.period, place, around, v.now); err != nil {
		return st, nil, nil, err
	}
	least := int64(len(above)) + 1
	if !held && len(above) < around {
		st = standing{rank: least, margin: st.late, late: st.late, at: v.now} // these are all entries
	}
	if st.rank < least {
		st.rank, st.margin = least, max(st.margin, st.late)
	}
	return st, above, below, nil
}

// has reports whether a top has a player at this place.
func has(top *board.Top, place boards.Place) bool {
	return slices.ContainsFunc(top.Entries(), func(e board.Entry) bool {
		return e.Player == place.Player && board.Compare(e.Place, place) == 0
	})
}

// Bounds of the index entries that are counted for one rank.
const (
	// maxCounted bounds the count by the histogram. The rank in a larger cell is the cell's middle,
	// with its error.
	maxCounted = 1000
	// maxFound bounds the entries that are read: more than the histogram has, because some scores
	// may not be folded yet.
	maxFound = 10 * maxCounted
)

// errNotFolded means that the histogram lacks too many scores for a rank.
var errNotFolded = fmt.Errorf("%w: scores are not folded yet", shard.ErrUnavailable)

// rank ranks a player by the sum of the histogram, or by its fragments, if there is no sum that
// counts, or it lacks too many scores.
func (r *boardReader) rank(ctx context.Context, v view, place boards.Place) (st standing, err error) {
	if v.sum != nil {
		if st, err = r.rankBy(ctx, v, place, v.sum.Value, v.sum.AsOf); !errors.Is(err, errNotFolded) {
			return st, err
		}
		v.sum = nil
	}
	histogram, at, err := r.readHistogram(ctx, v.board, v.period, v.now)
	if err != nil {
		return st, err
	}
	return r.rankBy(ctx, v, place, histogram, at)
}

// rankBy adds the entries in higher cells, from a histogram, to those ahead of the player in the
// player's own cell, from the index. If few entries are ahead in all, it counts them in the index,
// which needs no fold. By the sum, which is minutes old while scores come, a rank is the cell's
// middle: index and sum would be of different times. So it is while rows of the index are outdated.
func (r *boardReader) rankBy(ctx context.Context, v view, place boards.Place, histogram board.Histogram, at time.Time) (st standing, err error) {
	st.late = max(0, histogram.Late())
	cell := histogram.Locate(place.Score)
	if cell.Above+cell.Own <= maxCounted { // count all entries ahead of the player
		n, more, err := r.entries.Count(ctx, v.board, v.period, "", place.RankKey(), maxFound, v.now)
		if more {
			err = fmt.Errorf("%w: more than %d are before the player, and %d in the histogram", errNotFolded, maxFound, cell.Above+cell.Own)
		}
		return standing{rank: int64(n) + 1, margin: st.late, late: st.late, at: v.now}, err
	}
	st.at = at
	st.rank, st.margin = cell.Rank()
	if cell.Own > maxCounted || v.sum != nil || st.late > 0 {
		st.margin++ // the player may not be in the cell yet
		return st, nil
	}
	n, more, err := r.entries.Count(ctx, v.board, v.period, cell.From, place.RankKey(), maxFound, v.now)
	if err != nil {
		return st, err
	}
	if more { // the histogram has more
		st.margin++
		return st, nil
	}
	falls, err := r.mayFall(ctx, v.board)
	if st.rank, st.margin = cell.Above+int64(n)+1, 0; falls {
		st.margin = 1 // if the newest score is not folded, an older one in a higher cell counts as another player's
	}
	return st, err
}

// mayFall reports whether a player's score may fall. It can't on a board that keeps the best score.
func (r *boardReader) mayFall(ctx context.Context, name string) (bool, error) {
	settings, err := r.settingsOf(ctx, name)
	if err != nil || settings == nil {
		return true, err
	}
	mode := boards.Mode(dynamo.Text(settings, schema.BoardMode))
	return mode != "" && mode != boards.Best, nil
}

// readHistogram returns the sum of a board's period's fragments that count, and the time of their
// last fold.
func (r *boardReader) readHistogram(ctx context.Context, name, period string, now time.Time) (histogram board.Histogram, at time.Time, err error) {
	var mu sync.Mutex
	add := func(item dynamo.Item) error {
		part, err := parts.HistogramPart(item, now)
		if part != nil {
			mu.Lock()
			defer mu.Unlock()
			histogram.Merge(part.Value)
			at = later(at, part.AsOf)
		}
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, pk := range schema.HistogramPartitions(name, period) {
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
	return histogram, at, err
}
