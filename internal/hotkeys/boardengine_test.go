package hotkeys_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestBoardUnitsOnTheEngine checks that the counted units of each index key equal the charged ones, for boards of every
// mode, with removed players and a raised shard count. A table key's may be fewer: removals of nothing and failed
// conditions are not in the stream.
func TestBoardUnitsOnTheEngine(t *testing.T) {
	limits, err := throttle.New(throttle.Options{Partitions: 4, PartitionWCU: 100_000, TopKeys: 10_000, Base: dynamolocal.Transport()})
	require.NoError(t, err)
	db := enginetest.Client(t, func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limits} })
	names := enginetest.Tables(t, db)
	limits.Reset()
	playBoards(t, db, names)
	type key struct{ index, key string }
	want, got := map[key]float64{}, map[key]float64{}
	for _, k := range limits.Stats().Keys.Writes {
		if k.Table == names.Items {
			want[key{k.Index, k.Key}] = k.Units
		}
	}
	s := settings()
	s.Control, s.ItemsTable, s.EventsTable = growth.Off, names.Items, names.Events
	f := newFixture(s)
	drain(t, f, db, names, names.Items)
	for _, item := range parsed(t, f) {
		for _, k := range item.Keys {
			got[key{k.Index, k.Key}] += float64(k.Units)
		}
	}
	for k, units := range got {
		if k.index == "" && units <= want[k] {
			want[k] = units
		}
	}
	for k := range want {
		if _, counted := got[k]; k.index == "" && !counted {
			delete(want, k)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || got[key{schema.ByRank, "L#sum#all#0"}] == 0 {
		t.Errorf("write units (-charged +counted):\n%s", diff)
	}
}

// playBoards submits random scores to a board of each mode, removes players, and changes the shard count once.
func playBoards(t *testing.T, db *dynamodb.Client, names schema.Names) {
	t.Helper()
	view := shardmap.New(db, names.ShardMap, shardmap.Options{})
	changer := shardmap.NewChanger(db, view, shardmap.ChangerOptions{Clock: func() time.Time { return enginetest.Later }})
	rankings := boards.New(db, names.Items, view, boards.Options{Retention: time.Hour})
	rng := rand.New(rand.NewPCG(1, 2))
	for i, mode := range []boards.Mode{boards.Best, boards.Latest, boards.Total} {
		board := string(mode)
		require.NoError(t, rankings.Configure(t.Context(), board, boards.Settings{Mode: mode, Size: 10, Periods: []boards.Period{boards.AllTime, boards.Daily}[:1+i%2]}))
		for n := range 20 {
			player, now := fmt.Sprint(rng.IntN(10)), enginetest.Later
			score, err := boards.ParseScore(fmt.Sprint(rng.IntN(20) - 5))
			if err == nil && n == 10 {
				_, err = insist(func() (shardmap.Entry, error) { return changer.Pin(t.Context(), "L#"+board, 3, shardmap.Note{}, now) })
			}
			if err == nil && n%5 == 4 {
				err = rankings.Remove(t.Context(), board, player, now)
			}
			if err == nil {
				err = rankings.Submit(t.Context(), board, []boards.PlayerScore{{Player: player, Score: score}}, now)[0]
			}
			require.NoError(t, err)
		}
	}
}

// drain delivers a table's whole stream to the detector.
func drain(t *testing.T, f *fixture, db *dynamodb.Client, names schema.Names, table string) {
	t.Helper()
	source, err := eventsource.OpenStream(t.Context(), db, enginetest.Streams(t, db), table)
	require.NoError(t, err)
	mapping, err := eventsource.NewMapping(eventsource.MappingOptions{
		Name: "test", Source: source, Handler: f.handler, Checkpoints: db, CheckpointTable: dynamolocal.CheckpointTable(names), Logger: discard,
		FailureFile: filepath.Join(t.TempDir(), "failures.jsonl"), Attempts: 1, TumblingWindow: 10 * time.Second, PartialFailures: true,
	})
	require.NoError(t, err)
	if err := mapping.Drain(t.Context()); err != nil || mapping.Stats().GivenUp > 0 {
		t.Fatalf("draining %s: %v, %+v", table, err, mapping.Stats())
	}
}
