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
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// writes is a kind of write.
type writes struct {
	name string
	what string
	typ  kind.Kind // the key's kind in the shard map
	path string
	// body returns the body of a key's n-th write, at a time after the start of the run.
	body func(key string, n int64, began time.Time, after time.Duration) string
	// call means that each write has an Idempotency-Key.
	call bool
}

var (
	counter = writes{name: "counter", what: "a counter", typ: kind.Counter, path: "/v1/counters", body: increment}
	keyed   = writes{name: "keyed", what: "a counter by keyed calls", typ: kind.Counter, path: "/v1/counters", body: increment, call: true}
	event   = writes{name: "event", what: "events of now", typ: kind.Event, path: "/v1/events", body: func(key string, _ int64, _ time.Time, _ time.Duration) string {
		return fmt.Sprintf(`{"events":[{"entity":%q}]}`, key)
	}}
	ahead = writes{name: "ahead", what: "events up to 2 s ahead", typ: kind.Event, path: "/v1/events", body: func(key string, _ int64, began time.Time, after time.Duration) string {
		return eventAt(key, "", began.Add(after+rand.N(mostAhead)))
	}}
	again = writes{name: "again", what: "one event put again and again", typ: kind.Event, path: "/v1/events", body: func(key string, _ int64, began time.Time, _ time.Duration) string {
		return eventAt(key, "the-same", began)
	}}
	backfill = writes{name: "backfill", what: "events of yesterday", typ: kind.Event, path: "/v1/events", body: func(key string, n int64, began time.Time, after time.Duration) string {
		return eventAt(key, strconv.FormatInt(n, 10), began.Add(after-24*time.Hour))
	}}
	board = writes{name: "board", what: "a board of sums", typ: kind.Board, path: "/v1/scores", body: func(key string, _ int64, _ time.Time, _ time.Duration) string {
		return fmt.Sprintf(`{"board":%q,"scores":[{"player":"player-%d","score":1}]}`, key, rand.IntN(players))
	}}
	limit = writes{name: "limit", what: "a rate limit that is never reached", typ: kind.Limit, path: "/v1/limits", body: func(key string, _ int64, _ time.Time, _ time.Duration) string {
		return fmt.Sprintf(`{"key":%q,"limit":1000000000,"window":"720h"}`, key)
	}}
)

const (
	// mostAhead is below the API's 2 s by the time of a request.
	mostAhead = 1900 * time.Millisecond
	// usedAge is longer than a limit's used is old with 64 write shards.
	usedAge = 5 * time.Second
	// players is so high that the entries are no load for the table's partitions: the storm is about the index's partitions.
	players = 1000
)

func increment(key string, _ int64, _ time.Time, _ time.Duration) string {
	return fmt.Sprintf(`{"increments":[{"counter":%q,"delta":1}]}`, key)
}

func eventAt(key, id string, at time.Time) string {
	if id != "" {
		id = fmt.Sprintf(`"id":%q,`, id)
	}
	return fmt.Sprintf(`{"events":[{"entity":%q,%s"time":%q}]}`, key, id, at.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// prepare sets a board's mode to sum, so that every score changes its entry.
func (st *storm) prepare(ctx context.Context) error {
	if st.Kind.typ != kind.Board {
		return nil
	}
	for _, key := range st.keys {
		body := fmt.Sprintf(`{"board":%q,"mode":"sum","size":100,"periods":["all"]}`, key)
		status, err := st.send(ctx, http.MethodPut, "/v1/leaderboards", body, nil)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("setting up the board: %d", status)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// found returns the number of writes that strong reads find.
func (st *storm) found(ctx context.Context) (sum int, err error) {
	for _, key := range st.keys {
		n, err := st.foundOf(ctx, key)
		if err != nil {
			return 0, fmt.Errorf("reading %s: %w", key, err)
		}
		sum += n
	}
	return sum, nil
}

func (st *storm) foundOf(ctx context.Context, key string) (int, error) {
	switch st.Kind.typ {
	case kind.Event:
		found, _, err := st.events(ctx, key)
		return len(found), err
	case kind.Board:
		return st.scores(ctx, key)
	case kind.Limit:
		time.Sleep(usedAge)
		var answer struct{ Used int }
		err := st.mustSend(ctx, http.MethodPost, st.Kind.path, st.Kind.body(key, 0, st.began, 0), &answer)
		return answer.Used - 1, err // without the hit of this read
	}
	var answer struct{ Value int }
	err := st.mustSend(ctx, http.MethodGet, "/v1/counters?consistency=strong&name="+url.QueryEscape(key), "", &answer)
	return answer.Value, err
}

// scores returns the sum of all players' scores, each of which is 1. It reads the entries without the limiter, since rows
// of the index may be outdated.
func (st *storm) scores(ctx context.Context, key string) (int, error) {
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

// events returns the ids of an entity's events from the day before the run on. twice means that a read repeated one.
func (st *storm) events(ctx context.Context, key string) (found map[string]bool, twice bool, err error) {
	found = map[string]bool{}
	query := url.Values{"entity": {key}, "limit": {"1000"}, "from": {st.began.Add(-25 * time.Hour).UTC().Format(time.RFC3339)}}
	if to := st.began.Add(time.Hour); st.Kind.name == ahead.name {
		query.Set("to", to.UTC().Format(time.RFC3339))
	}
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
	}
}
