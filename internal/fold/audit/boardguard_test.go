package audit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/audit"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/test/lane"
)

// interrupted is a client that has something happen before one of its calls: "index"
// for readings of the index, "kept" for those of the rollups table, "transaction".
type interrupted struct {
	*dynamodb.Client
	calls  map[string]int
	before func(call string, n int)
}

func (i *interrupted) call(name string) {
	i.calls[name]++
	i.before(name, i.calls[name])
}

func (i *interrupted) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	switch {
	case in.IndexName != nil:
		i.call("index")
	case strings.Contains(*in.KeyConditionExpression, "begins_with"):
		i.call("kept")
	}
	return i.Client.Query(ctx, in, o...)
}

func (i *interrupted) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	i.call("transaction")
	return i.Client.TransactWriteItems(ctx, in, o...)
}

// TestScoresInBetween come at each moment of a repair, and are folded soon or later.
// Each counts once in the end.
func TestScoresInBetween(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, func(o *eventsource.MappingOptions) { o.BatchingWindow = 300 * time.Millisecond })
	r.score(t, "b", players(10)...)
	points := 1000
	for _, moment := range []string{"index 2", "transaction 1", "kept 2", "index 3", "kept 3"}[:lane.Runs(2, 5)] {
		for _, pause := range []time.Duration{0, time.Second}[:lane.Runs(1, 2)] {
			var off board.Histogram
			off.Add(5, 3)
			r.damage(t, "b", "h#lost", item{"v": num(1), "seq": str(fmt.Sprintf("%040d", points)), "cells": bin(off.Bytes())})
			client := &interrupted{Client: r.db, calls: map[string]int{}, before: func(call string, n int) {
				if fmt.Sprint(call, " ", n) == moment {
					points++
					r.score(t, "b", fmt.Sprint("p1 ", points), fmt.Sprint("new", points, " 7"))
					time.Sleep(pause) // mostly it is folded then
				}
			}}
			o := audit.Options{Names: r.names, Rules: r.rules, EventRetention: retention, Repair: true, IndexLag: time.Millisecond, Wait: 20 * time.Second, Poll: 100 * time.Millisecond}
			found := check(t, r.auditorOver(t, client, o), boardTarget("b"))
			if len(found) == 0 || !found[0].Repaired {
				t.Errorf("a score before %s: %+v", moment, found)
			}
			r.wantRight(t, "b", moment)
		}
	}
}

// wantRight waits until all is folded and looked at, and audits without repair.
func (r *rig) wantRight(t *testing.T, name, when string) {
	t.Helper()
	r.looked(t)
	a := r.auditor(t, quick(nil))
	for range 5 { // it may be proved while the last is folded
		if found := check(t, a, boardTarget(name)); len(found) == 0 {
			return
		}
	}
	t.Errorf("%s: %+v", when, check(t, a, boardTarget(name)))
}

// TestAFailureOfABoard is replayed: the records that a damaged part could not take are
// counted, and the failure is forgotten.
func TestAFailureOfABoard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, nil)
	r.score(t, "b", players(10)...)
	a := r.auditor(t, quick(repairing))
	r.wantRight(t, "b", "before")
	r.damage(t, "b", r.aPart(t, "b"), item{"seq": str("x")})
	r.eventually(t, func() bool {
		r.score(t, "b", fmt.Sprint("late", time.Now().UnixNano(), " 5"))
		return len(r.failures(t, a)) == 1
	})
	report, left, err := a.Replay(t.Context(), r.failures(t, a), nil, nil)
	if err != nil || report.Targets != 1 || report.Repaired != 1 {
		t.Fatalf("%+v, left %+v, %v", report, left, err)
	}
	r.wantRight(t, "b", "replayed")
	if report, left, err = a.Replay(t.Context(), r.failures(t, a), nil, nil); err != nil || len(left) != 0 || len(r.failures(t, a)) != 0 {
		t.Errorf("%+v, left %+v, %v", report, left, err)
	}
}

// TestAllHasBoards with entries, and those with summaries only.
func TestAllHasBoards(t *testing.T) {
	r := newRig(t)
	r.score(t, "a", players(3)...)
	r.fold(t)
	r.score(t, "b#1", players(3)...)
	r.damage(t, "gone", "h#s", item{"v": num(1), "seq": str("05"), "cells": bin(board.Histogram{}.Bytes())})
	report := all(t, r.auditor(t, quick(hasty)))
	if report.Targets != 3 || report.Right != 2 || report.Findings[0].Name != "b#1" || report.Findings[0].State != audit.Unsettled {
		t.Errorf("%+v", report)
	}
	given, err := r.auditor(t, nil).ReadGivenUp(strings.NewReader(`{"payload":{"Records":[{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"5","Keys":{"pk":{"S":"L#a#all#p1"},"sk":{"S":"a"}}}}]}}`))
	if err != nil || len(given.Targets) != 1 || given.Targets[0] != boardTarget("a") {
		t.Errorf("given up: %+v, %v", given, err)
	}
}

// TestABoardWithManyParts needs some merges before one transaction can replace all.
func TestABoardWithManyParts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, nil)
	r.score(t, "b", players(10)...)
	var one board.Histogram
	one.Add(7, 1)
	for i := range 230 {
		r.damage(t, "b", fmt.Sprintf("h#s%03d", i), item{"v": num(1), "seq": str("05"), "cells": bin(one.Bytes())})
	}
	if found := check(t, r.auditor(t, quick(repairing)), boardTarget("b")); len(found) == 0 || !found[0].Repaired {
		t.Errorf("%+v", found)
	}
	r.wantRight(t, "b", "repaired")
}

// TestPeriodsThatExpire are left alone.
func TestPeriodsThatExpire(t *testing.T) {
	r := newRig(t)
	soon := num(time.Now().Add(5 * time.Minute).Unix())
	r.score(t, "entry", players(3)...)
	pk, sk := schema.EntryKey("entry", "all", "p1")
	r.update(t, r.names.Items, pk, sk, "SET expires_at = :x", item{":x": soon})
	r.damage(t, "summary", "h#s", item{"v": num(1), "seq": str("05"), "expires_at": soon, "cells": bin([]byte("x"))})
	for _, name := range []string{"entry", "summary"} {
		if found := check(t, r.auditor(t, quick(hastyRepair)), boardTarget(name)); len(found) != 1 || found[0].State != audit.TooOld {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestPeriodsOfABoard that are asked for.
func TestPeriodsOfABoard(t *testing.T) {
	at := time.Date(2026, 1, 6, 12, 0, 0, 0, time.UTC)
	a := newRig(t).auditor(t, func(o *audit.Options) { o.Now = func() time.Time { return at } })
	list, err := a.Targets(schema.BaseKey{Type: kind.Board, Name: "b"}, audit.Range{From: at.Add(-48 * time.Hour)})
	var got []string
	for _, target := range list {
		got = append(got, target.Period)
	}
	if want := "all 2026-01-04 2026-01-05 2026-01-06 2026-W01 2026-W02"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
	if list, err = a.Targets(schema.BaseKey{Type: kind.Board, Name: "b"}, audit.Range{}); err != nil || len(list) != 1+39+7 {
		t.Errorf("%d periods, %v", len(list), err)
	}
	if _, err = a.Targets(schema.BaseKey{Type: kind.Board, Name: "b"}, audit.Range{From: at.AddDate(-100, 0, 0)}); err == nil {
		t.Error("a century is no error")
	}
}
