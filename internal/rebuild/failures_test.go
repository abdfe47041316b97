package rebuild_test

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

func (r *rig) failures(t testing.TB, a *rebuild.Checker) []rebuild.Failure {
	t.Helper()
	list, err := a.Failures(t.Context())
	require.NoError(t, err)
	return list
}

// TestPoisonIsRepaired checks that records which can't be folded leave failures of their targets. After the items are
// repaired, a repair corrects the summaries and forgets the failures; of one that names no summary only a repair of all.
func TestPoisonIsRepaired(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.pin(t, "C#c#1", 2)
	at := hour()
	stop := r.run(t, nil)
	r.update(t, r.names.Items, "C#c#1#1", "+", "SET rev = :rev", item{":rev": num(10)}) // no value
	r.update(t, r.names.Events, "E#e#"+at.Format(time.DateOnly)+"#0", schema.EventSortKey(at, "bad"), "SET #data = :d", item{":d": dynamo.String("x")})
	r.put(t, "e", at.Add(time.Minute), 3)
	r.addTo(t, "good", 1, 1)
	enginetest.Eventually(t, func() bool { return len(r.failures(t, r.checker(nil))) == 2 })
	unknownPK, unknownSK := schema.FailureKey(schema.UnknownTarget("shardId-1", "17"))
	r.update(t, r.names.Rollups, unknownPK, unknownSK, "SET last_at = :at, failures = :n", item{":at": num(5), ":n": num(1)})
	repair := func() {
		r.update(t, r.names.Items, "C#c#1#1", "+", "SET rev = :rev, #value = :rev", item{":rev": num(11)})
		r.update(t, r.names.Events, "E#e#"+at.Format(time.DateOnly)+"#0", schema.EventSortKey(at, "bad"), "REMOVE #data", nil)
	}
	for _, step := range []struct {
		before             func()
		set                func(*rebuild.Options)
		all                bool
		targets, bad, left int
	}{
		{nil, repairing, false, 2, 2, 3},
		{nil, repairing, true, 3, 2, 3},
		{repair, nil, true, 3, 0, 3}, // folds add the repaired event; a dry run forgets nothing
		{nil, repairing, false, 2, 0, 1},
		{nil, nil, true, 3, 0, 1},
		{nil, repairing, true, 3, 0, 0},
	} {
		if step.before != nil {
			step.before()
		}
		a := r.checker(step.set)
		work := rebuild.Work{Failures: r.failures(t, a), All: step.all}
		if step.all {
			work.Rest = a.All(rebuild.Range{})
		}
		var order []schema.Target
		report, err := a.Do(t.Context(), work, func(target schema.Target, _ rebuild.Result) { order = append(order, target) })
		if err != nil || report.Targets != step.targets || report.Bad() != step.bad || len(report.Left) != step.left || len(order) != step.targets {
			t.Fatalf("step %+v: %+v, %v", step, report, err)
		}
	}
	stop()
}
