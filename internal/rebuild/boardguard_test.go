package rebuild_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// interrupted returns a client that calls before ahead of some calls, with their kind and number. They are
// queries of the index ("index 1"), queries of the rollups table ("kept 1") and transactions ("transaction
// 1").
func (r *rig) interrupted(before func(call string)) *dynamodb.Client {
	calls := map[string]int{}
	return enginetest.Before(r.db, func(in any) error {
		kind := ""
		switch in := in.(type) {
		case *dynamodb.TransactWriteItemsInput:
			kind = "transaction"
		case *dynamodb.QueryInput:
			if in.IndexName != nil {
				kind = "index"
			} else if strings.Contains(*in.KeyConditionExpression, "begins_with") {
				kind = "kept"
			}
		}
		if kind != "" {
			calls[kind]++
			before(fmt.Sprint(kind, " ", calls[kind]))
		}
		return nil
	})
}

// TestScoresDuringARepair checks that a score which is written at any moment of a repair counts once, on a board where less is better. Its
// fold comes during the repair, or later.
func TestScoresDuringARepair(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, func(o *eventsource.MappingOptions) { o.BatchingWindow = 300 * time.Millisecond })
	rankings := boards.New(r.db, r.names.Items, r.shards, boards.Options{})
	require.NoError(t, rankings.Configure(t.Context(), "b", boards.Settings{Mode: boards.Lowest}))
	r.score(t, "b", players(10)...)
	points := 1000
	for _, moment := range []string{"index 2", "transaction 1", "kept 2", "index 3", "kept 3"}[:require.Runs(require.UnlessQuick(2, 1), 5)] {
		for _, pause := range []time.Duration{0, time.Second}[:require.Runs(1, 2)] {
			var off parts.Histogram
			off.Add(5, 3)
			r.damage(t, "b", "h#lost", item{"v": num(1), "seq": dynamo.String(fmt.Sprintf("%040d", points)), "cells": bin(off.Bytes())})
			reached := false
			client := r.interrupted(func(call string) {
				if call == moment {
					reached = true
					points++
					r.score(t, "b", fmt.Sprint("p1 -", points), fmt.Sprint("new", points, " 7"))
					time.Sleep(pause) // usually enough for the fold
				}
			})
			o := rebuild.Options{Names: r.names, Rollups: true, EventRetention: retention, Repair: true, IndexLag: time.Millisecond, Wait: 20 * time.Second, Poll: 100 * time.Millisecond}
			found := check(t, rebuild.New(o, client), boardTarget("b"))
			if !reached || len(found) == 0 || !found[0].Repaired {
				t.Errorf("a score before %s: written %t, findings %+v, want one that was repaired", moment, reached, found)
			}
			r.wantRight(t, "b", moment)
		}
	}
}

// wantRight waits for all folds and rechecks, and checks that a check finds nothing.
func (r *rig) wantRight(t *testing.T, name, when string) {
	t.Helper()
	r.rechecked(t)
	a := r.checker(quick(nil))
	for range 5 { // a fold may be in flight during the proof
		if found := check(t, a, boardTarget(name)); len(found) == 0 {
			return
		}
	}
	t.Errorf("%s: findings %+v, want none", when, check(t, a, boardTarget(name)))
}

// TestAllHasBoards checks that All yields boards with entries and boards with summaries only.
func TestAllHasBoards(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.score(t, "a", players(3)...)
	r.fold(t)
	r.score(t, "b#1", players(3)...)
	r.damage(t, "gone", "h#s", item{"v": num(1), "seq": dynamo.String("05"), "cells": bin(parts.Histogram{}.Bytes())})
	report := all(t, r.checker(quick(hasty)))
	if report.Targets != 3 || report.Right != 2 || report.Findings[0].Name != "b#1" || report.Findings[0].State != rebuild.Unsettled {
		t.Errorf("report %+v, want 3 targets, of which b#1 is unsettled", report)
	}
}

// TestExpiringPeriodsAreLeft checks that a check repairs no period whose entries or summaries expire soon.
func TestExpiringPeriodsAreLeft(t *testing.T) {
	r := newRig(t)
	soon := num(time.Now().Add(5 * time.Minute).Unix())
	r.score(t, "entry", players(3)...)
	pk, sk := schema.EntryKey("entry", "all", "p1")
	r.update(t, r.names.Items, pk, sk, "SET expires_at = :x", item{":x": soon})
	r.damage(t, "summary", "h#s", item{"v": num(1), "seq": dynamo.String("05"), "expires_at": soon, "cells": bin([]byte("x"))})
	for _, name := range []string{"entry", "summary"} {
		if found := check(t, r.checker(quick(hastyRepair)), boardTarget(name)); len(found) != 1 || found[0].State != rebuild.TooOld {
			t.Errorf("an expiring %s: findings %+v, want too old", name, found)
		}
	}
}

// TestPeriodsOfABoard checks which periods Targets returns for a range, and the bound of the range.
func TestPeriodsOfABoard(t *testing.T) {
	at := time.Date(2026, 1, 6, 12, 0, 0, 0, time.UTC)
	a := newRig(t).checker(func(o *rebuild.Options) { o.Now = func() time.Time { return at } })
	list, err := a.Targets(schema.BaseKey{Type: schema.Board, Name: "b"}, rebuild.Range{From: at.Add(-48 * time.Hour)})
	var got []string
	for _, target := range list {
		got = append(got, target.Period)
	}
	if want := "all 2026-01-04 2026-01-05 2026-01-06 2026-W01 2026-W02 2026-01"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
	if list, err = a.Targets(schema.BaseKey{Type: schema.Board, Name: "b"}, rebuild.Range{}); err != nil || len(list) != 1+39+7+3 {
		t.Errorf("%d periods, %v", len(list), err)
	}
	if _, err = a.Targets(schema.BaseKey{Type: schema.Board, Name: "b"}, rebuild.Range{From: at.AddDate(-100, 0, 0)}); err == nil {
		t.Error("Targets accepts a range of a century")
	}
}
