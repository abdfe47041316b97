package audit_test

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/audit"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// TestWhatAnAuditCosts checks the costs of docs/audit.md.
func TestWhatAnAuditCosts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	counted, limits := enginetest.Metered(t, r.db)
	at := hour()
	r.pin(t, "C#wide", 200)
	for n := range 200 {
		r.source(t, "wide", n, 1795236467848498, n*1000)
	}
	r.source(t, "narrow", 0, 100, 5)
	r.put(t, "e", at, 220) // not close to a multiple of 4 KB: the size of an event varies by a byte or two
	r.fold(t)
	o := audit.Options{Names: r.names, Rules: r.rules, EventRetention: retention, Wait: 30 * time.Second, Repair: true}
	costs := func(what string, target schema.Target, client audit.Client, reads, writes float64) {
		t.Helper()
		limits.Reset()
		check(t, audit.New(o, client), target)
		if s := limits.Stats(); s.ReadUnits != reads || s.WriteUnits != writes {
			t.Errorf("%s: %v read units and %v write units, want %v and %v", what, s.ReadUnits, s.WriteUnits, reads, writes)
		}
	}
	costs("a counter", counterTarget("narrow"), counted, 3, 0)
	costs("one of 200 write shards", counterTarget("wide"), counted, 1+4+200, 0)
	r.update(t, r.names.Rollups, "C#wide#0", "-", "SET x1 = :x, x2 = :x", item{":x": num(1000)}) // write shard 1 has that
	costs("its repair in one partial", counterTarget("wide"), counted, 1+4+200, 2+1)
	costs("220 events in 18 KB", hourTarget("e", at), counted, 1+1+5, 0)
	costs("an hour without any", hourTarget("e", at.Add(time.Hour)), counted, 3, 0)
	pk, sk := r.part(t, "e", at)
	r.update(t, r.names.Rollups, pk, sk, "SET events = :n", item{":n": num(1)})
	emptied := len(r.parts(t, "e", at)) + 1 // and the fragment of the stream shard of the markers
	costs("the repair of an hour", hourTarget("e", at), r.acknowledging(counted, 1000), 3*(1+1+5)+1+1, float64(24*3+2*(emptied+1)))
}

// TestWhatAnAuditOfABoardCosts checks the costs of a board in docs/audit.md.
func TestWhatAnAuditOfABoardCosts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	counted, limits := enginetest.Metered(t, r.db)
	r.score(t, "b", players(200)...)
	r.fold(t)
	costs := func(what string, client audit.Client, reads, writes float64) {
		t.Helper()
		limits.Reset()
		check(t, r.repairer(client), boardTarget("b"))
		if s := limits.Stats(); s.ReadUnits != reads || s.WriteUnits != writes {
			t.Errorf("%s: %v read units and %v write units, want %v and %v", what, s.ReadUnits, s.WriteUnits, reads, writes)
		}
	}
	const shardMap, parts, top, sum, index, marks = 1, 4, 1, 3, 3 + 200/2, 200 + 32 // sum: and notes; fragments have four partition keys
	costs("200 entries", counted, shardMap+parts+top+sum+index, 0)
	r.damage(t, "b", r.openFragment(t, "b"), item{"cells": nil})
	emptied := enginetest.StreamShards + 1 // and the fragment of the stream shard of the markers
	costs("its repair", r.acknowledging(counted, 1000), 3*(shardMap+parts+top+sum+index)+9, float64(marks*3+2*(emptied+1)))
}

// repairer returns an auditor that repairs boards without waiting for the index.
func (r *rig) repairer(client audit.Client) *audit.Auditor {
	return audit.New(audit.Options{Names: r.names, Rules: r.rules, EventRetention: retention, Wait: 30 * time.Second, IndexLag: time.Millisecond, Repair: true}, client)
}
