package audit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/audit"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

func boardTarget(name string) schema.Target {
	return schema.Target{Base: schema.BaseKey{Type: kind.Board, Name: name}, Period: "all"}
}

// score writes players' scores: "ann 5".
func (r *rig) score(t testing.TB, name string, texts ...string) {
	t.Helper()
	var list []boards.PlayerScore
	for _, text := range texts {
		player, points, _ := strings.Cut(text, " ")
		s, err := boards.ParseScore(points)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, boards.PlayerScore{Player: player, Score: s})
	}
	rankings := boards.New(r.db, r.names.Items, r.shards, boards.Options{})
	if err := errors.Join(rankings.Submit(context.Background(), name, list, time.Now())...); err != nil {
		t.Fatal(err)
	}
}

// players is a list of n scores.
func players(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("p%d %d", i, 10*i))
	}
	return list
}

// quick has no more lag of the index than the engine's.
func quick(set func(*audit.Options)) func(*audit.Options) {
	return func(o *audit.Options) {
		o.IndexLag = time.Millisecond
		if set != nil {
			set(o)
		}
	}
}

// damage changes what is kept of a board, removing what is nil.
func (r *rig) damage(t testing.TB, name, sk string, with item) {
	t.Helper()
	pk := schema.BoardRollupKey(name, "all")
	if streamShard, part := strings.CutPrefix(sk, schema.HistogramPrefix); part {
		pk, sk = schema.HistogramKey(name, "all", streamShard)
	}
	it := r.get(t, r.names.Rollups, pk, sk)
	if it == nil {
		it = keyOf(pk, sk)
	}
	maps.Copy(it, with)
	maps.DeleteFunc(it, func(_ string, v types.AttributeValue) bool { return v == nil })
	if _, err := r.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &r.names.Rollups, Item: it}); err != nil {
		t.Fatal(err)
	}
}

// aPart is the sort key of a live stream shard's part of a board's histogram.
func (r *rig) aPart(t testing.TB, name string) string {
	t.Helper()
	read, err := parts.NewHistograms(r.db, r.names.Rollups, time.Now).Read(context.Background(), parts.Period{Board: name, Label: "all"}.Key())
	for _, p := range read {
		if p.StreamShard != "lost" && p.StreamShard != schema.MergedPart {
			return schema.HistogramPrefix + p.StreamShard
		}
	}
	t.Fatalf("%+v, %v", read, err)
	return ""
}

func bin(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

// looked has the aggregator look at the tops that are noted, once they are due.
func (r *rig) looked(t testing.TB) {
	t.Helper()
	h := r.aggregator(t, r.db)
	r.eventually(t, func() bool {
		out, err := h.Invoke(context.Background(), []byte(fold.BoardsTask))
		if err != nil {
			t.Fatal(err)
		}
		return string(out) == `{"looked":0,"failed":0,"later":0,"moved":0}`
	})
}

// TestBoards damages the histogram and the top in many ways. An audit finds it, and a
// repair makes it right while the aggregator runs.
func TestBoards(t *testing.T) {
	t.Parallel()
	var off board.Histogram
	off.Add(5, 3)
	for name, c := range map[string]struct {
		sk     string
		damage item
		state  audit.State
	}{
		"other counts":       {"h", item{"cells": bin(off.Bytes())}, audit.Wrong},
		"a part more":        {"h#lost", item{"v": num(1), "seq": str("05"), "cells": bin(off.Bytes())}, audit.Wrong},
		"an unreadable part": {"h", item{"cells": bin([]byte("x"))}, audit.Unreadable},
		"no seq":             {"h", item{"seq": nil}, audit.Unreadable},
		"unreadable merged":  {"h#" + schema.MergedPart, item{"v": num(1), "seq": str("x"), "cells": nil}, audit.Unreadable},
		"other places":       {"top", item{"places": bin(board.NewTop().Bytes())}, audit.Wrong},
		"an unreadable top":  {"top", item{"places": nil}, audit.Unreadable},
		"no top's version":   {"top", item{"version": nil}, audit.Unreadable},
	} {
		if !lane.Long && (c.state != audit.Wrong || name == "a part more") {
			continue // what can't be read is the long run's; other tests have a part more
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.pin(t, "L#b", 3)
			r.run(t, nil)
			a := r.auditor(t, quick(nil))
			r.score(t, "b", players(30)...)
			r.eventually(t, func() bool { return len(check(t, a, boardTarget("b"))) == 0 })
			r.looked(t)
			if c.sk == "h" {
				c.sk = r.aPart(t, "b")
			}
			r.damage(t, "b", c.sk, c.damage)
			if found := check(t, a, boardTarget("b")); len(found) != 1 || found[0].State != c.state || found[0].Repaired || found[0].Period != "all" {
				t.Fatalf("%+v", found)
			}
			if found := check(t, r.auditor(t, quick(repairing)), boardTarget("b")); len(found) != 1 || found[0].State != c.state || !found[0].Repaired {
				t.Fatalf("repaired: %+v", found)
			}
			r.looked(t)
			if found := check(t, a, boardTarget("b")); len(found) != 0 {
				t.Fatalf("after the repair: %+v", found)
			}
			r.score(t, "b", "p3 1001", "new 4")
			r.eventually(t, func() bool { return len(check(t, a, boardTarget("b"))) == 0 })
			r.wantNoMarks(t)
		})
	}
}

// TestTheSumOfABoard checks that a stored sum which differs from the fragments is found and refreshed, unless a note
// says that it lags.
func TestTheSumOfABoard(t *testing.T) {
	r := newRig(t)
	r.run(t, nil)
	r.score(t, "b", players(3)...)
	r.eventually(t, func() bool { return len(check(t, r.auditor(t, quick(nil)), boardTarget("b"))) == 0 })
	r.looked(t)
	var off board.Histogram
	off.Add(5, 3)
	for _, cells := range [][]byte{off.Bytes(), []byte("x")} {
		r.damage(t, "b", schema.SumSK, item{"v": num(1), "seq": str("1"), "as_of": num(1), "cells": bin(cells)})
		for _, repaired := range []bool{false, true} {
			o := quick(nil)
			if repaired {
				o = quick(repairing)
			}
			if found := check(t, r.auditor(t, o), boardTarget("b")); len(found) != 1 || found[0].State != audit.Wrong || found[0].Repaired != repaired {
				t.Fatalf("repaired: %t: %+v", repaired, found)
			}
		}
		if found := check(t, r.auditor(t, quick(nil)), boardTarget("b")); len(found) != 0 {
			t.Errorf("while it is to be refreshed: %+v", found)
		}
		r.looked(t)
		if sum := r.get(t, r.names.Rollups, schema.BoardRollupKey("b", "all"), schema.SumSK); !strings.HasSuffix(dynamo.Text(sum, "seq"), schema.EmptiedSuffix) {
			t.Errorf("few fragments have the sum %+v", sum)
		}
	}
}

// TestAnEntryThatCannotBeRead is named, and nothing is repaired before it is mended.
func TestAnEntryThatCannotBeRead(t *testing.T) {
	r := newRig(t)
	r.score(t, "b", players(3)...)
	r.fold(t)
	for name, value := range map[string]types.AttributeValue{"score": str("x"), "at": num(5), "rev": str("x"), "rank_key": str("7")} {
		pk, sk := schema.EntryKey("b", "all", "p1")
		before := r.get(t, r.names.Items, pk, sk)
		r.update(t, r.names.Items, pk, sk, "SET "+strings.Replace(name, "at", "#at", 1)+" = :x", item{":x": value})
		if found := check(t, r.auditor(t, quick(hastyRepair)), boardTarget("b")); len(found) != 1 || found[0].State != audit.Unreadable || !strings.Contains(found[0].Detail, "L#b#all#p1") {
			t.Errorf("%s: %+v", name, found)
		}
		if _, err := r.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &r.names.Items, Item: before}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRebuildsOfABoardInUse: scores come in bursts and are folded, while somebody
// damages the histogram and audits repair it. What was repaired stays right. The bursts
// come at longer intervals while an audit, on a slow machine, ends in none of them.
func TestRebuildsOfABoardInUse(t *testing.T) {
	t.Parallel()
	wanted := lane.Runs(1, 5)
	r := newRig(t)
	stop := r.run(t, nil)
	r.score(t, "b", players(20)...)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	const shortest, longest = int64(time.Second), int64(32 * time.Second)
	var pause atomic.Int64 // at most
	pause.Store(shortest)
	go func() {
		defer close(ended)
		for random := rand.New(rand.NewPCG(3, 4)); ctx.Err() == nil; {
			var some []string
			for range 1 + random.IntN(6) {
				some = append(some, fmt.Sprintf("p%d %d", random.IntN(40), random.IntN(100_000)))
			}
			r.score(t, "b", some...)
			select {
			case <-time.After(time.Duration(random.Int64N(pause.Load()))):
			case <-ctx.Done():
			}
		}
	}()
	a := r.auditor(t, quick(repairing))
	repaired, busy := 0, 0
	for deadline := time.Now().Add(time.Minute); repaired < wanted && time.Now().Before(deadline); {
		var off board.Histogram
		off.Add(5, 3)
		r.damage(t, "b", "h#lost", item{"v": num(1), "seq": str(fmt.Sprintf("%040d", time.Now().UnixNano())), "cells": bin(off.Bytes())})
		for {
			found := check(t, a, boardTarget("b"))
			if len(found) == 0 {
				break
			}
			if found[0].Repaired {
				repaired++
				pause.Store(shortest)
			} else if busy++; found[0].State != audit.Open {
				t.Fatalf("in use: %+v", found)
			} else {
				pause.Store(min(2*pause.Load(), longest))
			}
		}
	}
	cancel()
	<-ended
	stop()
	r.looked(t)
	if found := check(t, r.auditor(t, quick(hasty)), boardTarget("b")); len(found) != 0 || repaired == 0 {
		t.Errorf("at rest: %+v, after %d repairs", found, repaired)
	}
	t.Logf("%d repairs, %d times busy", repaired, busy)
}

// TestOutdatedRows checks that an audit counts entries as they are, whatever their rows in the index, and that
// its repair has rows moved of which no note is left.
func TestOutdatedRows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, nil)
	a := r.auditor(t, quick(nil))
	r.score(t, "b", players(20)...)
	for _, p := range []string{"p1", "p3"} {
		pk, sk := schema.EntryKey("b", "all", p)
		r.update(t, r.names.Items, pk, sk, "SET score = :s, rev = rev + :one", item{":s": num(1_000_000), ":one": num(1)})
	}
	r.eventually(t, func() bool { return len(check(t, a, boardTarget("b"))) == 0 })
	notes := 0
	for _, pk := range schema.NotePartitions() {
		in := &dynamodb.QueryInput{TableName: &r.names.Rollups, KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: item{":pk": str(pk)}}
		for it, err := range dynamo.Items(t.Context(), r.db, in) {
			if err != nil {
				t.Fatal(err)
			}
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
		found := check(t, r.auditor(t, o), boardTarget("b"))
		if notes == 0 || len(found) != 1 || !strings.HasPrefix(found[0].Detail, "2 entries have outdated rows") || found[0].Repaired != repaired {
			t.Fatalf("after %d notes were lost: %+v", notes, found)
		}
	}
	r.looked(t)
	pk, sk := schema.EntryKey("b", "all", "p3")
	if p3 := r.get(t, r.names.Items, pk, sk); dynamo.Digits(p3, "rev") != dynamo.Digits(p3, "row_rev") {
		t.Errorf("p3 is %+v", p3)
	}
	r.eventually(t, func() bool { return len(check(t, a, boardTarget("b"))) == 0 })
}
