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
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

func boardTarget(name string) schema.Target {
	return schema.Target{Base: schema.BaseKey{Type: kind.Board, Name: name}, Period: "all"}
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

// TestBoards checks that a check finds each damage of a board's histogram and top, and repairs it while
// the aggregator runs.
func TestBoards(t *testing.T) {
	t.Parallel()
	var off board.Histogram
	off.Add(5, 3)
	for name, c := range map[string]struct {
		sk     string
		damage item
		state  rebuild.State
	}{
		"other counts":      {"h", item{"cells": bin(off.Bytes())}, rebuild.Wrong},
		"one fragment more": {"h#lost", item{"v": num(1), "seq": dynamo.String("05"), "cells": bin(off.Bytes())}, rebuild.Wrong},
		"unreadable cells":  {"h", item{"cells": bin([]byte("x"))}, rebuild.Unreadable},
		"no seq":            {"h", item{"seq": nil}, rebuild.Unreadable},
		"unreadable merged": {"h#" + schema.MergedPart, item{"v": num(1), "seq": dynamo.String("x"), "cells": nil}, rebuild.Unreadable},
		"other places":      {"top", item{"places": bin(board.NewTop().Bytes())}, rebuild.Wrong},
		"an unreadable top": {"top", item{"places": nil}, rebuild.Unreadable},
		"no top's version":  {"top", item{"version": nil}, rebuild.Unreadable},
	} {
		if !lane.Long && (c.state != rebuild.Wrong || name == "one fragment more") {
			continue // the long lane has these; other tests add a fragment
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.pin(t, "L#b", 3)
			r.run(t, nil)
			a := r.checker(quick(nil))
			r.score(t, "b", players(30)...)
			enginetest.Eventually(t, func() bool { return len(check(t, a, boardTarget("b"))) == 0 })
			r.rechecked(t)
			if c.sk == "h" {
				c.sk = r.openFragment(t, "b")
			}
			r.damage(t, "b", c.sk, c.damage)
			if found := check(t, a, boardTarget("b")); len(found) != 1 || found[0].State != c.state || found[0].Repaired || found[0].Period != "all" {
				t.Fatalf("findings %+v, want one, %s and not repaired", found, c.state)
			}
			if found := check(t, r.checker(quick(repairing)), boardTarget("b")); len(found) != 1 || found[0].State != c.state || !found[0].Repaired {
				t.Fatalf("the repair's findings are %+v, want one, %s and repaired", found, c.state)
			}
			r.rechecked(t)
			if found := check(t, a, boardTarget("b")); len(found) != 0 {
				t.Fatalf("findings after the repair: %+v, want none", found)
			}
			r.score(t, "b", "p3 1001", "new 4")
			enginetest.Eventually(t, func() bool { return len(check(t, a, boardTarget("b"))) == 0 })
			r.wantNoMarkers(t)
		})
	}
}

// TestStoredSumOfABoard checks that a stored sum which differs from the fragments is found and refreshed,
// unless a note says that it lags.
func TestStoredSumOfABoard(t *testing.T) {
	r := newRig(t)
	r.run(t, nil)
	r.score(t, "b", players(3)...)
	enginetest.Eventually(t, func() bool { return len(check(t, r.checker(quick(nil)), boardTarget("b"))) == 0 })
	r.rechecked(t)
	var off board.Histogram
	off.Add(5, 3)
	for _, cells := range [][]byte{off.Bytes(), []byte("x")} {
		r.damage(t, "b", schema.SumSK, item{"v": num(1), "seq": dynamo.String("1"), "as_of": num(1), "cells": bin(cells)})
		for _, repaired := range []bool{false, true} {
			o := quick(nil)
			if repaired {
				o = quick(repairing)
			}
			if found := check(t, r.checker(o), boardTarget("b")); len(found) != 1 || found[0].State != rebuild.Wrong || found[0].Repaired != repaired {
				t.Fatalf("repair %t: findings %+v, want a wrong sum", repaired, found)
			}
		}
		if found := check(t, r.checker(quick(nil)), boardTarget("b")); len(found) != 0 {
			t.Errorf("findings while a note asks for a refresh: %+v, want none", found)
		}
		r.rechecked(t)
		if sum := r.get(t, r.names.Rollups, schema.BoardRollupKey("b", "all"), schema.SumSK); !strings.HasSuffix(dynamo.Text(sum, "seq"), schema.EmptiedSuffix) {
			t.Errorf("the sum is %+v; want it empty, for few fragments", sum)
		}
	}
}

// TestUnreadableEntry checks that a check names the entry and repairs nothing.
func TestUnreadableEntry(t *testing.T) {
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

// TestOutdatedRows checks that a check counts entries as they are, whatever their rows in the index. Its
// repair has rows moved whose note was lost.
func TestOutdatedRows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, nil)
	a := r.checker(quick(nil))
	r.score(t, "b", players(20)...)
	for _, p := range []string{"p1", "p3"} {
		pk, sk := schema.EntryKey("b", "all", p)
		r.update(t, r.names.Items, pk, sk, "SET score = :s, rev = rev + :one", item{":s": num(1_000_000), ":one": num(1)})
	}
	enginetest.Eventually(t, func() bool { return len(check(t, a, boardTarget("b"))) == 0 })
	notes := 0
	for _, pk := range schema.NotePartitions() {
		for _, it := range enginetest.Query(t, r.db, r.names.Rollups, pk) {
			if _, rows := schema.ParseRowsNote(dynamo.Text(it, "sk")); rows {
				r.delete(t, r.names.Rollups, pk, dynamo.Text(it, "sk"))
				notes++
			}
		}
	}
	for _, repaired := range []bool{false, true} {
		o := quick(nil)
		if repaired {
			o = quick(repairing)
		}
		found := check(t, r.checker(o), boardTarget("b"))
		if notes == 0 || len(found) != 1 || !strings.HasPrefix(found[0].Detail, "2 entries have outdated rows") || found[0].Repaired != repaired {
			t.Fatalf("after %d notes were lost: %+v", notes, found)
		}
	}
	r.rechecked(t)
	pk, sk := schema.EntryKey("b", "all", "p3")
	if p3 := r.get(t, r.names.Items, pk, sk); dynamo.Digits(p3, "rev") != dynamo.Digits(p3, "row_rev") {
		t.Errorf("the row of p3 is still outdated: %+v", p3)
	}
	enginetest.Eventually(t, func() bool { return len(check(t, a, boardTarget("b"))) == 0 })
}
