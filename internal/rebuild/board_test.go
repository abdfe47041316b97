package rebuild_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

func boardTarget(name string) schema.Target {
	return schema.Target{Base: schema.BaseKey{Type: schema.Board, Name: name}, Period: "all"}
}

// score writes scores, each as "player points".
func (r *rig) score(t testing.TB, name string, texts ...string) {
	t.Helper()
	var list []boards.PlayerScore
	for _, text := range texts {
		player, points, _ := strings.Cut(text, " ")
		s, err := boards.ParseScore(points)
		require.NoError(t, err)
		list = append(list, boards.PlayerScore{Player: player, Score: s})
	}
	rankings := boards.New(r.db, r.names.Items, r.shards, boards.Options{})
	require.NoError(t, errors.Join(rankings.Submit(context.Background(), name, list, time.Now())...))
}

// players returns n scores for score.
func players(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("p%d %d", i, 10*i))
	}
	return list
}

// quick adds to set that the index lags by at most 1 ms, as the engine's does.
func quick(set func(*rebuild.Options)) func(*rebuild.Options) {
	return func(o *rebuild.Options) {
		o.IndexLag = time.Millisecond
		if set != nil {
			set(o)
		}
	}
}

// damage changes attributes of a board's summary item, and removes those that are nil.
func (r *rig) damage(t testing.TB, name, sk string, with item) {
	t.Helper()
	pk := schema.BoardRollupKey(name, "all")
	if streamShard, part := strings.CutPrefix(sk, schema.HistogramPrefix); part {
		pk, sk = schema.HistogramKey(name, "all", streamShard)
	}
	it := r.get(t, r.names.Rollups, pk, sk)
	if it == nil {
		it = dynamo.Key(pk, sk)
	}
	maps.Copy(it, with)
	maps.DeleteFunc(it, func(_ string, v types.AttributeValue) bool { return v == nil })
	enginetest.Put(t, r.db, r.names.Rollups, it)
}

// openFragment returns the sort key of an open stream shard's fragment of a board's histogram.
func (r *rig) openFragment(t testing.TB, name string) string {
	t.Helper()
	read, err := parts.NewHistograms(r.db, r.names.Rollups, time.Now).Read(context.Background(), parts.Period{Board: name, Label: "all"}.Key())
	for _, p := range read {
		if p.StreamShard != "lost" && p.StreamShard != schema.MergedPart {
			return schema.HistogramPrefix + p.StreamShard
		}
	}
	t.Fatalf("no open stream shard has a fragment: %+v, %v", read, err)
	return ""
}

func bin(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

// rechecked runs the aggregator's task until no note of a board is left.
func (r *rig) rechecked(t testing.TB) {
	t.Helper()
	h := r.aggregator(t, r.db)
	enginetest.Eventually(t, func() bool {
		out, err := h.Invoke(context.Background(), []byte(fold.BoardsTask))
		require.NoError(t, err)
		return string(out) == `{"looked":0,"failed":0,"later":0,"moved":0}`
	})
}

// TestUnreadableEntry checks that a check names the entry and repairs nothing.
func TestUnreadableEntry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.score(t, "b", players(3)...)
	r.fold(t)
	for name, value := range map[string]types.AttributeValue{"score": dynamo.String("x"), "at": num(5), "rev": dynamo.String("x"), "rank_key": dynamo.String("7")} {
		pk, sk := schema.EntryKey("b", "all", "p1")
		before := r.get(t, r.names.Items, pk, sk)
		r.update(t, r.names.Items, pk, sk, "SET "+strings.Replace(name, "at", "#at", 1)+" = :x", item{":x": value})
		if found := check(t, r.checker(quick(hastyRepair)), boardTarget("b")); len(found) != 1 || found[0].State != rebuild.Unreadable || !strings.Contains(found[0].Detail, "L#b#all#p1") {
			t.Errorf("damaged %s: findings %+v, want L#b#all#p1 unreadable", name, found)
		}
		enginetest.Put(t, r.db, r.names.Items, before)
	}
}
