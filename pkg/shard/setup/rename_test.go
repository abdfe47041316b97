package setup_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/grow"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/spread"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// rig has a client, the names of its tables, and their shard map.
type rig struct {
	t       *testing.T
	db      *dynamodb.Client
	names   setup.Names
	shards  *shardmap.Map
	changer *shardmap.Changer
}

// now is after the changes of N that steps make at libtest.Later.
var now = libtest.Later.Add(time.Minute)

func text[T any](values ...T) string { return strings.Trim(fmt.Sprint(values), "[]") }

// steps call each constructor of the library and return what its answers show.
var steps = []struct {
	name, want string
	do         func(ctx context.Context, r rig) (string, error)
}{
	{"shardmap.Changer", "4 16 4 1", func(ctx context.Context, r rig) (string, error) {
		seen, err := r.shards.Lookup(ctx, counters.Key("c"), libtest.Later)
		require.NoError(r.t, err)
		grown, err := r.changer.GrowFrom(ctx, seen, 4, libtest.Note, libtest.Later)
		require.NoError(r.t, err)
		_, err = r.changer.GrowFrom(ctx, seen, 8, libtest.Note, libtest.Later)
		if !errors.Is(err, shardmap.ErrNoChange) {
			r.t.Error("a change of an outdated entry:", err)
		}
		pinned, err := r.changer.Pin(ctx, events.Key("e"), 16, libtest.Note, libtest.Later)
		require.NoError(r.t, err)
		require.NoError(r.t, r.changer.StoreSnapshot(ctx, now))
		fresh := shardmap.New(r.db, r.names.ShardMap, shardmap.Options{})
		require.NoError(r.t, fresh.Load(ctx, now))
		loaded, err := fresh.Lookup(ctx, counters.Key("c"), now)
		require.NoError(r.t, err)
		later, err := fresh.Since(ctx, libtest.Later, now)
		return text(grown.Most(), pinned.Most(), loaded.Most(), len(later)-1), err
	}},
	{"grow", "4", func(ctx context.Context, r rig) (string, error) {
		grower, err := grow.New(r.changer, grow.Options{Logger: slog.New(slog.DiscardHandler), Clock: func() time.Time { return now }})
		for call := range uint64(50) {
			grower.ObserveAttempt(ctx, shard.Attempt{Key: counters.Key("g"), Kind: "counter", Call: call, At: now, Shards: 1, Outcome: shard.Throttled})
		}
		grown, _ := r.shards.Newest(ctx, counters.Key("g"), now)
		return text(grown.Most()), err
	}},
	{"counters", "30", func(ctx context.Context, r rig) (string, error) {
		writer := counters.NewWriter(r.db, r.names.Items, r.shards, counters.Options{})
		for range 10 {
			require.NoError(r.t, writer.Add(ctx, "c", 3, now))
			require.NoError(r.t, writer.Add(ctx, "small", 3, now))
		}
		sum, err := counters.NewReader(r.db, r.names.Items, r.shards).Sum(ctx, "c")
		return text(sum.Value), err
	}},
	{"events", "7 7 0", func(ctx context.Context, r rig) (string, error) {
		var list []events.Event
		for n := range 7 {
			list = append(list, events.Event{Entity: "e", ID: fmt.Sprint("id", n), Time: now})
		}
		writer, reader := events.NewWriter(r.db, r.names.Events, r.shards, events.Options{}), events.NewReader(r.db, r.names.Events, r.shards)
		for range 2 { // the second time the events exist
			require.NoError(r.t, errors.Join(writer.Put(ctx, list, now)...))
		}
		found, after := 0, ""
		for page := (events.Page{Next: "?"}); page.Next != ""; after = page.Next {
			var err error
			page, err = reader.Query(ctx, events.Range{Entity: "e", From: now.Add(-time.Hour), To: now.Add(time.Hour), Limit: 2, After: after}, now)
			require.NoError(r.t, err)
			found += len(page.Events)
		}
		single, err := reader.Get(ctx, "e", "id3", now, now)
		require.NoError(r.t, err)
		single.Time = now
		_, missing := reader.Get(ctx, "e", "id8", now, now)
		if missing == nil {
			r.t.Error("an event that was not put")
		}
		return text(found, len(list), strings.Compare(single.ID, "id3")), nil
	}},
	{"boards", "b 31 2 0", func(ctx context.Context, r rig) (string, error) {
		board := boards.New(r.db, r.names.Items, r.shards, boards.Options{})
		require.NoError(r.t, board.Configure(ctx, "b", boards.Settings{Mode: boards.Total, Size: 10}))
		for player, points := range map[string]string{"a": "12.5", "b": "20", "c": "9"} {
			for _, points := range []string{points, "11"} {
				score, err := boards.ParseScore(points)
				require.NoError(r.t, err)
				require.NoError(r.t, errors.Join(board.Submit(ctx, "b", []boards.PlayerScore{{Player: player, Score: score}}, now)...))
			}
		}
		top, err := boards.NewReader(r.db, r.names.Items, r.shards).Top(ctx, "b", "all", 5, now)
		require.NoError(r.t, err)
		above, below, err := board.Around(ctx, "b", "all", top[0], 2, now)
		return text[any](top[0].Player, top[0].Score, len(below), len(above)), err
	}},
	{"sessions", "3 [0 1 2] 5 2", func(ctx context.Context, r rig) (string, error) {
		store := sessions.New(r.db, r.names.Items, r.shards, sessions.Options{})
		for n := range 4 {
			_, err := store.Put(ctx, sessions.Lease{Group: "g", ID: fmt.Sprint(n), TTL: time.Hour, Data: table.Item{"n": libtest.Num(5)}}, now)
			require.NoError(r.t, err)
		}
		require.NoError(r.t, store.End(ctx, "g", "3", now))
		reader := sessions.NewReader(r.db, r.names.Items, r.shards)
		active, err := reader.Active(ctx, "g", now)
		require.NoError(r.t, err)
		var ids []string
		for s, err := range reader.List(ctx, "g", "", now) {
			require.NoError(r.t, err)
			ids = append(ids, s.ID)
		}
		one, err := reader.Get(ctx, "g", "2", now)
		return text[any](active, slices.Sorted(slices.Values(ids)), libtest.Text(one.Data["n"]), one.ID), err
	}},
	{"limits", "true true false 4 true 3", func(ctx context.Context, r rig) (string, error) {
		limiter, limit := limits.New(r.db, r.names.Items, r.shards, limits.Options{}), limits.Limit{Key: "l", Max: 5, Window: time.Hour}
		one, err := limiter.Hit(ctx, limit, now)
		require.NoError(r.t, err)
		more, err := limiter.HitN(ctx, limit, 3, now)
		require.NoError(r.t, err)
		rejected, err := limiter.HitAll(ctx, []limits.Hits{{Limit: limit, N: 2}, {Limit: limits.Limit{Key: "other", Max: 3, Window: time.Hour, Sliding: true}, N: 1}}, now)
		require.NoError(r.t, err)
		back, err := limiter.HitN(ctx, limit, -1, now)
		return text[any](one.Allowed, more.Allowed, rejected[0].Allowed, rejected[0].Used, rejected[1].Allowed, back.Used), err
	}},
	{"once", "done 1 true", func(ctx context.Context, r rig) (string, error) {
		writer, calls := counters.NewWriter(r.db, r.names.Items, r.shards, counters.Options{}), once.New(r.db, r.names.Items, once.Options{})
		call := once.Call{Key: "k", Digest: []byte("1"), Answer: []byte("done")}
		add := func(context.Context) ([]shardmap.Write, error) {
			return []shardmap.Write{writer.AddTransact(ctx, "o", 1, now)}, nil
		}
		_, err := calls.Do(ctx, call, now, add)
		require.NoError(r.t, err)
		before, err := calls.Do(ctx, call, now, add)
		require.NoError(r.t, err)
		call.Digest = []byte("2")
		_, other := calls.Before(ctx, call, now)
		sum, err := counters.NewReader(r.db, r.names.Items, r.shards).Sum(ctx, "o")
		return text[any](string(before), sum.Value, errors.Is(other, once.ErrOtherCall)), err
	}},
	{"spread", "7 3 3", func(ctx context.Context, r rig) (string, error) {
		reader := spread.NewReader(r.db, r.names.Items, r.shards)
		ofEvents, err := spread.NewReader(r.db, r.names.Events, r.shards).Events(ctx, "e", now.Add(-time.Minute), now.Add(time.Minute), now)
		require.NoError(r.t, err)
		group, err := reader.Sessions(ctx, "g", now)
		require.NoError(r.t, err)
		_, err = reader.Counter(ctx, "c", time.Millisecond, now)
		require.NoError(r.t, err)
		board, err := reader.Board(ctx, "b", "all", now)
		return text(ofEvents[0].Total+ofEvents[1].Total, group.Total, board.Total), err
	}},
	{"table", "2 8", func(ctx context.Context, r rig) (string, error) {
		own := &table.Table{
			Client: r.db, Name: libtest.Theirs(r.t, r.db, "S"), PartitionKey: "customer", SortKey: "placed", Shards: r.shards, Layout: table.RandomSuffix{},
		}
		for n := range 2 {
			it := libtest.Order(n)
			it["placed"] = libtest.Str(fmt.Sprint("2026-01-05#", n))
			maps.Copy(it, table.Item{"pk": libtest.Num(1), cmp.Or(r.names.PartitionKey, "sk"): libtest.Num(2)}) // not the keys of this table
			require.NoError(r.t, own.Put(ctx, it, now))
		}
		for it, err := range own.Query(ctx, "acme", table.Span{}, now) {
			if require.NoError(r.t, err); libtest.Text(it["pk"])+libtest.Text(it[cmp.Or(r.names.PartitionKey, "sk")]) != "12" {
				r.t.Error("an item of another table is", it)
			}
		}
		inItems := &table.Table{Client: r.db, Name: r.names.Items, PartitionKey: "pk", SortKey: "sk", Shards: table.Fixed(3), Layout: table.CalculatedSuffix{By: "id"}}
		for range 2 { // the second time its identity is a condition
			require.NoError(r.t, inItems.Put(ctx, table.Item{"pk": libtest.Str("own"), "sk": libtest.Str("1"), "id": libtest.Str("5")}, now))
		}
		single, err := inItems.Get(ctx, table.Item{"pk": libtest.Str("own"), "sk": libtest.Str("1"), "id": libtest.Str("5")}, now)
		if err != nil || libtest.Text(single["pk"]) != "own" {
			r.t.Error(single, err)
		}
		page, err := own.Page(ctx, "acme", table.Span{}, now)
		require.NoError(r.t, err)
		tally := table.Tally{Client: r.db, Table: own.Name, PartitionKey: "customer", SortKey: "placed", Sort: libtest.Str("-"), Value: "likes", Shards: r.shards}
		require.NoError(r.t, tally.Add(ctx, "post", 8, now))
		sum, err := tally.Sum(ctx, []string{"post"}, now)
		return text[any](len(page.Items), sum), err
	}},
}

// TestNamesOfKeys checks that each constructor of the library works on tables whose keys have other names: reserved
// words, names of hotshard's own attributes, and names that need a placeholder in expressions.
func TestNamesOfKeys(t *testing.T) {
	names := []string{
		"key", "range", "name", "value", "SET", "and", "size", "version", "rev", "entry", "data", "expires_at", "started_at", "row_rev", "board_shard", "v",
		"customer-id", "a.b", "#pk", ":pk", "hash key", "Ключ", strings.Repeat("k", 255), "digest", "0", "number_of_shards", "rank_key", "score",
	}
	pairs := [][]string{{"", ""}, {"PK", "SK"}, {"key", "range"}, {"name", ""}}
	for seed := range require.Runs(4, 40) {
		order := rand.New(rand.NewPCG(uint64(seed), 0)).Perm(len(names))
		pairs = append(pairs, []string{names[order[0]], names[order[1]]})
	}
	for _, pair := range pairs {
		t.Run(fmt.Sprintf("%.20q", pair), func(t *testing.T) {
			t.Parallel()
			db, n := enginetest.Client(t), setup.WithPrefix("theirs-")
			n.PartitionKey, n.SortKey, n.Rollups, n.Heat = pair[0], pair[1], "", ""
			for range 2 {
				require.NoError(t, setup.Create(t.Context(), db, n))
			}
			r := rig{t: t, db: dynamodb.New(db.Options(), n.RenameKeys), names: n}
			r.shards = shardmap.New(r.db, n.ShardMap, shardmap.Options{})
			r.changer = libtest.Patient(shardmap.NewChanger(r.db, r.shards, shardmap.ChangerOptions{}))
			for _, step := range steps {
				if got, err := step.do(t.Context(), r); err != nil || got != step.want {
					t.Errorf("%s: %s, %v; want %s", step.name, got, err, step.want)
				}
			}
		})
	}
}

// TestWrongNamesOfKeys checks that errors have the names that were given, and those of an existing table.
func TestWrongNamesOfKeys(t *testing.T) {
	db, right := enginetest.Client(t), setup.WithPrefix("theirs-")
	right.PartitionKey, right.SortKey, right.Rollups, right.Heat = "PK", "SK", "", ""
	require.NoError(t, setup.Create(t.Context(), db, right))
	wrong := right
	wrong.PartitionKey = "Pk"
	if err := setup.Create(t.Context(), db, wrong); err == nil || !strings.Contains(err.Error(), "theirs-items: it exists with the key PK, SK instead of Pk, SK") {
		t.Error(err)
	}
	wrong.SortKey = "Pk"
	_, err := dynamodb.New(db.Options(), wrong.RenameKeys).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if !errors.Is(err, shard.ErrMisused) {
		t.Errorf("one name for both keys: %v, want ErrMisused", err)
	}
}
