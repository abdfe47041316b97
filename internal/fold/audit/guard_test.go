package audit_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/audit"
	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// eventsIn is how many events an hour's rollup has.
func (r *rig) eventsIn(t testing.TB, entity string, at time.Time) (n int64) {
	t.Helper()
	for _, p := range r.parts(t, entity, at) {
		n += p.Value.Events
	}
	return n
}

// TestARepairKeepsWhatItemsNoLongerHave: a rollup of events that were deleted, as by
// a retention shorter than the audit was told, stays unless it is said that it may
// have fewer.
func TestARepairKeepsWhatItemsNoLongerHave(t *testing.T) {
	r := newRig(t)
	at := hour()
	stop := r.run(t, nil)
	r.put(t, "deleted", at, 4)
	r.put(t, "restated", at, 4)
	r.folded(t, "deleted", at, 4)
	r.folded(t, "restated", at, 4)
	for _, entity := range []string{"deleted", "restated"} {
		for i := range 3 {
			event := at.Add(time.Duration(i) * time.Second)
			r.delete(t, r.names.Events, "E#"+entity+"#"+at.Format(time.DateOnly)+"#0", schema.EventSortKey(event, fmt.Sprint("id", i)))
		}
	}
	r.update(t, r.names.Events, "E#restated#"+at.Format(time.DateOnly)+"#0", schema.EventSortKey(at.Add(3*time.Second), "id3"), "SET #d.t = :n", item{":n": num(9)})
	r.eventually(t, func() bool {
		for _, p := range r.parts(t, "restated", at) {
			if p.Value.Restated {
				return true
			}
		}
		return false
	})
	stop()
	for _, entity := range []string{"deleted", "restated"} {
		pk, sk := schema.FailureKey(nameOf(hourTarget(entity, at)))
		r.update(t, r.names.Rollups, pk, sk, "SET last_at = :at", item{":at": num(5)})
		before := r.stored(t, entity, at)
		for _, repair := range []bool{false, true} {
			a := r.auditorOver(t, acknowledging{r.db, r.names, 1e9}, audit.Options{Names: r.names, Rules: r.rules, Repair: repair, Wait: time.Second, Poll: time.Millisecond})
			found := check(t, a, hourTarget(entity, at))
			if len(found) != 1 || found[0].State != audit.Fewer || found[0].Repaired || found[0].Detail == "" {
				t.Errorf("%s, repair %t: %+v", entity, repair, found)
			}
			if after := r.stored(t, entity, at); after != before {
				t.Errorf("%s, repair %t: %s became %s", entity, repair, before, after)
			}
		}
	}
	replay := func(fewer bool) (*audit.Report, []audit.Failure) {
		a := r.auditorOver(t, acknowledging{r.db, r.names, 1e9}, audit.Options{Names: r.names, Rules: r.rules, Repair: true, Fewer: fewer, Wait: time.Second, Poll: time.Millisecond})
		report, left, err := a.Replay(t.Context(), r.failures(t, a), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return report, left
	}
	if report, left := replay(false); report.Bad() != 2 || len(left) != 2 || r.eventsIn(t, "deleted", at) != 4 {
		t.Errorf("replayed: %+v, left %+v", report, left)
	}
	if report, left := replay(true); report.Repaired != 2 || len(left) != 0 || r.eventsIn(t, "deleted", at) != 1 || r.eventsIn(t, "restated", at) != 1 {
		t.Errorf("replayed with fewer: %+v, left %+v", report, left)
	}
}

// show makes parts comparable.
func show(list []parts.Part[measures.Part]) (text string) {
	for _, p := range list {
		text += fmt.Sprintf("%s %s %v %d %+v\n", p.StreamShard, p.Sequence, p.AsOf, p.ExpiresAt, p.Value)
	}
	return text
}

// TestWithoutARule: what the rules don't make is not computed by them, and a failure
// of it stays.
func TestWithoutARule(t *testing.T) {
	r := newRig(t)
	at := hour()
	r.put(t, "e", at, 4)
	r.fold(t)
	pk, sk := schema.FailureKey(nameOf(hourTarget("e", at)))
	r.update(t, r.names.Rollups, pk, sk, "SET last_at = :at", item{":at": num(5)})
	before := show(r.parts(t, "e", at))
	for _, text := range []string{`[]`, `[{"prefix":"f","every":"1h"}]`, `[{"every":"1d"}]`} {
		r.rules = rules(t, text)
		a := r.auditorOver(t, acknowledging{r.db, r.names, 1e9}, audit.Options{Names: r.names, Rules: r.rules, Repair: true, Fewer: true, Wait: time.Second})
		report, left, err := a.Replay(t.Context(), r.failures(t, a), nil, nil)
		if err != nil || report.Bad() != 1 || report.States[audit.NoRule] != 1 || len(left) != 1 || len(r.failures(t, a)) != 1 {
			t.Errorf("%s: %+v, left %+v, %v", text, report, left, err)
		}
		if after := show(r.parts(t, "e", at)); after != before || !strings.Contains(after, "Sum:") {
			t.Errorf("%s: %s became %s", text, before, after)
		}
	}
}

// TestWhatNoFoldTook: a consumer gives a batch up, and another delivers it when an
// audit has counted its event. It counts once, whether the stream shard has a part
// or not.
func TestWhatNoFoldTook(t *testing.T) {
	for name, folded := range map[string][]int{"a part": {1, 2}, "no part": nil} {
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
			client := &folding{acknowledging{r.db, r.names, 50}, func() { once.Do(func() { r.event(t, at, 4) }) }} // given up, too
			a := r.auditorOver(t, client, audit.Options{Names: r.names, Rules: r.rules, Repair: true, Wait: time.Second, Poll: time.Millisecond})
			if found := check(t, a, hourTarget("e", at)); len(found) != 1 || found[0].State != audit.Wrong || !found[0].Repaired {
				t.Fatalf("found %+v", found)
			}
			deliver(t, r.aggregator(t, r.db), at, 3, 4)
			deliver(t, container, at, 1, 2, 3, 4)
			if found := check(t, a, hourTarget("e", at)); len(found) != 0 || r.eventsIn(t, "e", at) != 4 {
				t.Errorf("after the second delivery: %+v", found)
			}
			r.event(t, at, 51)
			deliver(t, container, at, 51)
			if found := check(t, a, hourTarget("e", at)); len(found) != 0 || r.eventsIn(t, "e", at) != 5 {
				t.Errorf("after another event: %+v", found)
			}
		})
	}
}

// TestAFoldOnItsWayNeedsNoProof: a bucket that is behind at the first look and has
// come to rest at the second is right, without marks.
func TestAFoldOnItsWayNeedsNoProof(t *testing.T) {
	r := newRig(t)
	at := hour()
	container := r.aggregator(t, r.db)
	r.event(t, at, 1)
	looks := 0
	client := &reading{acknowledging{r.db, r.names, 50}, func() {
		if looks++; looks == 2 {
			deliver(t, container, at, 1)
		}
	}}
	marks := &folding{client, func() { t.Error("a mark was put") }}
	a := r.auditorOver(t, marks, audit.Options{Names: r.names, Rules: r.rules, Wait: time.Second, Poll: time.Millisecond})
	if found := check(t, a, hourTarget("e", at)); len(found) != 0 || looks < 2 {
		t.Errorf("found %+v after %d looks", found, looks)
	}
}

// TestAPartMendedByHand: what docs/audit.md says to do with a part that can't be
// read keeps out records that come again.
func TestAPartMendedByHand(t *testing.T) {
	r := newRig(t)
	at := hour()
	container := r.aggregator(t, r.db)
	for i := 1; i <= 3; i++ {
		r.event(t, at, i)
	}
	deliver(t, container, at, 1, 2, 3)
	pk, sk := r.part(t, "e", at)
	r.update(t, r.names.Rollups, pk, sk, "SET measures = :x, skipped = :x", item{":x": str("x")})
	a := r.auditorOver(t, acknowledging{r.db, r.names, 0}, audit.Options{Names: r.names, Rules: r.rules, Repair: true, Wait: time.Second, Poll: time.Millisecond})
	if found := check(t, a, hourTarget("e", at)); len(found) != 1 || found[0].State != audit.Unreadable {
		t.Fatalf("found %+v", found)
	}
	seq := fmt.Sprintf("%0*d", schema.RollupSequenceDigits, 3)
	r.update(t, r.names.Rollups, pk, sk, "SET v = :one, seq = :seq, events = :zero, measures = :none REMOVE skipped, restated, as_of, expires_at",
		item{":one": num(1), ":zero": num(0), ":none": &types.AttributeValueMemberM{Value: item{}}, ":seq": str(seq + "~")})
	if found := check(t, a, hourTarget("e", at)); len(found) != 1 || !found[0].Repaired {
		t.Fatalf("mended: %+v", found)
	}
	r.event(t, at, 4)
	deliver(t, container, at, 2, 3, 4)
	deliver(t, r.aggregator(t, r.db), at, 1, 2, 3, 4)
	if found := check(t, a, hourTarget("e", at)); len(found) != 0 || r.eventsIn(t, "e", at) != 4 {
		t.Errorf("delivered again: %+v", found)
	}
}

// TestForgetting: a failure is deleted only as it was read, or if it is gone.
func TestForgetting(t *testing.T) {
	r := newRig(t)
	a := r.auditor(t, repairing)
	pk, sk := schema.FailureKey(schema.UnknownTarget("s", "1"))
	forget := func(change string, want bool, left int) {
		t.Helper()
		r.delete(t, r.names.Rollups, pk, sk)
		r.update(t, r.names.Rollups, pk, sk, "SET reason = :r", item{":r": str("x")})
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

// reading does something before each reading of a rollup or of events.
type reading struct {
	audit.Client
	do func()
}

func (r *reading) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	r.do()
	return r.Client.Query(ctx, in, o...)
}
