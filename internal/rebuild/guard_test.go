package rebuild_test

import (
	"sync"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/rebuild"
)

// eventsIn returns the number of events in an hour's rollup.
func (r *rig) eventsIn(t testing.TB, entity string, at time.Time) (n int64) {
	t.Helper()
	for _, p := range r.parts(t, entity, at) {
		n += p.Value.Events
	}
	return n
}

// TestLateBatchCountsOnce checks that an event counts once if its batch is folded only after a check has
// counted it. The stream shard has a fragment or none.
func TestLateBatchCountsOnce(t *testing.T) {
	for name, folded := range map[string][]int{"a fragment": {1, 2}, "no fragment": nil} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			at := hour()
			container := r.aggregator(t, r.db)
			for i := 1; i <= 3; i++ {
				r.event(t, at, i)
			}
			if folded != nil {
				deliver(t, container, at, folded...)
			}
			var once sync.Once
			client := beforePut(r.acknowledging(r.db, 50), func() { once.Do(func() { r.event(t, at, 4) }) }) // given up, too
			a := rebuild.New(rebuild.Options{Names: r.names, Rollups: true, Repair: true, Wait: time.Second, Poll: time.Millisecond}, client)
			if found := check(t, a, hourTarget("e", at)); len(found) != 1 || found[0].State != rebuild.Wrong || !found[0].Repaired {
				t.Fatalf("findings %+v, want one that was repaired", found)
			}
			deliver(t, r.aggregator(t, r.db), at, 3, 4)
			deliver(t, container, at, 1, 2, 3, 4)
			if found := check(t, a, hourTarget("e", at)); len(found) != 0 || r.eventsIn(t, "e", at) != 4 {
				t.Errorf("findings after the redelivery: %+v; want none, and 4 events", found)
			}
			r.event(t, at, 51)
			deliver(t, container, at, 51)
			if found := check(t, a, hourTarget("e", at)); len(found) != 0 || r.eventsIn(t, "e", at) != 5 {
				t.Errorf("findings after another event: %+v; want none, and 5 events", found)
			}
		})
	}
}

// TestForget checks that Forget deletes a failure only if it did not change since it was read.
func TestForget(t *testing.T) {
	r := newRig(t)
	a := r.checker(repairing)
	pk, sk := schema.FailureKey(schema.UnknownTarget("s", "1"))
	forget := func(change string, want bool, left int) {
		t.Helper()
		r.delete(t, r.names.Rollups, pk, sk)
		r.update(t, r.names.Rollups, pk, sk, "SET reason = :r", item{":r": dynamo.String("x")})
		if change == "of nothing" {
			change = "SET last_at = :n"
		} else {
			r.update(t, r.names.Rollups, pk, sk, "SET last_at = :n, failures = :n", item{":n": num(5)})
		}
		f := r.failures(t, a)[0]
		switch change {
		case "":
		case "delete":
			r.delete(t, r.names.Rollups, pk, sk)
		default:
			r.update(t, r.names.Rollups, pk, sk, change, item{":n": num(6)})
		}
		forgotten, err := a.Forget(t.Context(), f)
		if now := r.failures(t, a); forgotten != want || err != nil || len(now) != left {
			t.Errorf("%q: forgotten %t, %v; left %+v", change, forgotten, err, now)
		}
	}
	forget("", true, 0)
	forget("delete", true, 0)
	forget("SET last_at = :n", false, 1)
	forget("SET failures = :n", false, 1)
	forget("of nothing", false, 1)
}
