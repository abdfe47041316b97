package storm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// writes is a kind of write.
type writes struct {
	name string
	what string
	typ  schema.Kind // the key's kind in the shard map
	path string
	body func() string // of one write
}

var (
	counter = writes{"counter", "a counter", schema.Counter, "/v1/counters", func() string {
		return fmt.Sprintf(`{"increments":[{"counter":%q,"delta":1}]}`, key)
	}}
	event = writes{"event", "events of now", schema.Event, "/v1/events", func() string {
		return fmt.Sprintf(`{"events":[{"entity":%q}]}`, key)
	}}
	named = writes{"named", "events of now with the caller's ids", schema.Event, "/v1/events", func() string {
		return fmt.Sprintf(`{"events":[{"entity":%q,"id":"%d","time":%q}]}`, key, rand.Uint64(), time.Now().Format(time.RFC3339Nano))
	}}
	board = writes{"board", "a board of sums", schema.Board, "/v1/scores", func() string {
		return fmt.Sprintf(`{"board":%q,"scores":[{"player":"player-%d","score":1}]}`, key, rand.IntN(players))
	}}
	limit = writes{"limit", "a rate limit that is never reached", schema.Limit, "/v1/limits", func() string {
		return fmt.Sprintf(`{"key":%q,"limit":1000000000,"window":"720h"}`, key)
	}}
	twoLimits = writes{"limits", "the same limit and one of 1,000 others in one call", schema.Limit, "/v1/limits", func() string {
		return fmt.Sprintf(`{"limits":[%s,{"key":"user-%d","limit":1000000000,"window":"720h"}]}`, limit.body(), rand.IntN(1000))
	}}
)

const (
	// usedAge is longer than a limit's used is old with 64 write shards.
	usedAge = 5 * time.Second
	// players is so high that the entries are no load for the table's partitions: the storm is about the index's partitions.
	players = 1000
)

// prepare sets a board's mode to sum, so that every score changes its entry.
func (st *storm) prepare(ctx context.Context) error {
	if st.Kind.typ != schema.Board {
		return nil
	}
	body := fmt.Sprintf(`{"board":%q,"mode":"sum","size":100,"periods":["all"]}`, key)
	return st.mustSend(ctx, http.MethodPut, "/v1/leaderboards", body, nil)
}

// found returns the number of writes that strong reads find.
func (st *storm) found(ctx context.Context) (int, error) {
	switch st.Kind.typ {
	case schema.Event:
		found, _, err := st.events(ctx)
		return len(found), err
	case schema.Board:
		return st.scores(ctx)
	case schema.Limit:
		time.Sleep(usedAge)
		var answer struct{ Used int }
		err := st.mustSend(ctx, http.MethodPost, limit.path, limit.body(), &answer)
		return answer.Used - 1, err // without the hit of this read
	}
	var answer struct{ Value int }
	err := st.mustSend(ctx, http.MethodGet, "/v1/counters?consistency=strong&name="+key, "", &answer)
	return answer.Value, err
}

// scores returns the sum of all players' scores, each of which is 1. It reads the entries without the limiter, since rows
// of the index may be outdated.
func (st *storm) scores(ctx context.Context) (int, error) {
	client, names := dynamolocal.DynamoDB(st.system.Endpoint(), ""), schema.NamesFor(prefix)
	rankings := boards.New(client, names.Items, shardmap.New(client, names.ShardMap, shardmap.Options{}), boards.Options{})
	list := make([]string, players)
	for i := range list {
		list[i] = fmt.Sprint("player-", i)
	}
	now := time.Now()
	entries, err := rankings.Entries(ctx, key, boards.AllTime.Label(now), list, now)
	sum := 0
	for _, e := range entries {
		n, err := strconv.Atoi(e.Score.String())
		if err != nil {
			return 0, fmt.Errorf("score of %s: %w", e.Player, err)
		}
		sum += n
	}
	return sum, err
}

// events returns the ids of the entity's events. twice means that a read repeated one. The first page is short, so that it
// has a cursor: a page without may lag.
func (st *storm) events(ctx context.Context) (found map[string]bool, twice bool, err error) {
	found = map[string]bool{}
	query := url.Values{"entity": {key}, "limit": {"50"}, "from": {st.began.Add(-time.Hour).UTC().Format(time.RFC3339)}}
	for {
		var page struct {
			Events []struct{ ID string }
			Cursor string
		}
		if err := st.mustSend(ctx, http.MethodGet, "/v1/events?"+query.Encode(), "", &page); err != nil {
			return found, twice, err
		}
		for _, ev := range page.Events {
			twice = twice || found[ev.ID]
			found[ev.ID] = true
		}
		if page.Cursor == "" {
			return found, twice, nil
		}
		query.Set("cursor", page.Cursor)
		query.Set("limit", "1000")
	}
}
