package boards

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// top is how many of the first are asked for.
const top = 100

// way answers questions about the board, and is held to the truth for the first.
type way interface {
	first(context.Context, *standings) error
	rank(ctx context.Context, g *standings, i int) (rank, stated int64, err error)
}

// handler is hotshard's query function.
type handler struct{ http.Handler }

func (h handler) get(ctx context.Context, path string, query url.Values, out any) error {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path+"?"+query.Encode(), nil))
	if w.Code != http.StatusOK {
		return fmt.Errorf("%s: %d %s", path, w.Code, w.Body)
	}
	return json.Unmarshal(w.Body.Bytes(), out)
}

// leaders is the answer to a question for the first.
type leaders struct {
	Entries []struct {
		Player string
		Score  json.Number
	}
}

func (h handler) read(ctx context.Context) (b leaders, err error) {
	err = h.get(ctx, "/v1/leaderboards", url.Values{"board": {name}, "limit": {fmt.Sprint(top)}}, &b)
	return b, err
}

// leader is the first player.
func (h handler) leader(ctx context.Context) (string, error) {
	b, err := h.read(ctx)
	if err != nil || len(b.Entries) == 0 {
		return "", err
	}
	return b.Entries[0].Player, nil
}

func (h handler) first(ctx context.Context, g *standings) error {
	b, err := h.read(ctx)
	if err != nil || len(b.Entries) != top {
		return fmt.Errorf("%d of %d: %w", len(b.Entries), top, err)
	}
	for n, e := range b.Entries {
		if i := g.ranked[n]; e.Player != player(i) || e.Score.String() != fmt.Sprint(g.entries[i].points) {
			return fmt.Errorf("rank %d is %+v", n+1, e)
		}
	}
	return nil
}

func (h handler) rank(ctx context.Context, _ *standings, i int) (rank, stated int64, err error) {
	var out struct {
		Rank      int64
		RankError int64 `json:"rank_error"`
	}
	err = h.get(ctx, "/v1/leaderboards/rank", url.Values{"board": {name}, "player": {player(i)}, "around": {"0"}}, &out)
	return out.Rank, out.RankError, err
}

// scatter is what one would write without hotshard: a query for each write shard.
type scatter struct {
	db    *dynamodb.Client
	table string
}

func (s scatter) query(n int, condition string, values rig.Item) *dynamodb.QueryInput {
	values[":shard"] = rig.S(schema.BoardShardKey(name, period, n))
	return &dynamodb.QueryInput{
		TableName: &s.table, IndexName: aws.String(schema.ByRank),
		KeyConditionExpression: aws.String("board_shard = :shard" + condition), ExpressionAttributeValues: values,
	}
}

func (s scatter) read(ctx context.Context) ([]string, error) {
	lists := make([][]string, shards)
	group, ctx := errgroup.WithContext(ctx)
	for n := range shards {
		group.Go(func() error {
			in := s.query(n, "", rig.Item{})
			in.Limit = aws.Int32(top)
			out, err := s.db.Query(ctx, in)
			if err != nil {
				return err
			}
			for _, it := range out.Items {
				lists[n] = append(lists[n], rig.Text(it[schema.RankKey]))
			}
			return nil
		})
	}
	err := group.Wait()
	all := slices.Sorted(slices.Values(slices.Concat(lists...)))
	return all[:min(top, len(all))], err
}

func (s scatter) leader(ctx context.Context) (string, error) {
	keys, err := s.read(ctx)
	if err != nil || len(keys) == 0 {
		return "", err
	}
	place, err := boards.ParseRankKey(keys[0])
	return place.Player, err
}

func (s scatter) first(ctx context.Context, g *standings) error {
	keys, err := s.read(ctx)
	if err != nil || len(keys) != top {
		return fmt.Errorf("%d of %d: %w", len(keys), top, err)
	}
	for n, key := range keys {
		if !strings.HasSuffix(key, player(g.ranked[n])) {
			return fmt.Errorf("rank %d is %s", n+1, key)
		}
	}
	return nil
}

// rank counts the entries before the player's.
func (s scatter) rank(ctx context.Context, g *standings, i int) (rank, stated int64, err error) {
	var before atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for n := range shards {
		group.Go(func() error {
			in := s.query(n, " AND rank_key < :own", rig.Item{":own": rig.S(g.place(i).RankKey())})
			in.Select = types.SelectCount
			pages := dynamodb.NewQueryPaginator(s.db, in)
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return err
				}
				before.Add(int64(page.Count))
			}
			return nil
		})
	}
	err = group.Wait()
	return before.Load() + 1, 0, err
}
