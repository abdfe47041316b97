package rebuild_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
)

// counted returns the number of events in each readable hourly rollup of an entity's day.
func (r *rig) counted(t *testing.T, entity string, day time.Time) map[int]int64 {
	t.Helper()
	store, found := parts.NewEvents(r.db, r.names.Rollups, time.Now), map[int]int64{}
	for hour := range 24 {
		read, err := store.Read(t.Context(), parts.Bucket{Entity: entity, Width: shard.Hour, Start: day.Add(time.Duration(hour) * time.Hour)}.Key())
		if err != nil {
			continue
		}
		for _, p := range read {
			if p.Value.Events > 0 {
				found[hour] += p.Value.Events
			}
		}
	}
	return found
}

// addFragments adds n fragments of one event each to an hour's rollup.
func (r *rig) addFragments(t testing.TB, entity string, hour time.Time, n int) {
	t.Helper()
	for i := range n {
		pk, sk := schema.RollupKey(entity, shard.Hour, hour, fmt.Sprintf("gone-%03d", i))
		r.putItem(t, r.names.Rollups, pk, sk, item{
			"v": num(1), "events": num(1), "seq": dynamo.String(fmt.Sprintf("%040d", i)), "measures": &types.AttributeValueMemberM{},
		})
	}
}

// TestRetract deletes the events of five hours. Then it writes an event in one of them, and one in a new
// hour. The other rollups are emptied, also one of 150 fragments. An unreadable rollup stays.
func TestRetract(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, nil)
	day := hour().Truncate(24 * time.Hour)
	at := func(hour int) time.Time { return day.Add(time.Duration(hour) * time.Hour) }
	for _, hour := range []int{1, 2, 3, 4, 5} {
		r.put(t, "e", at(hour), 5)
	}
	enginetest.Eventually(t, func() bool { return len(r.counted(t, "e", day)) == 5 })
	r.addFragments(t, "e", at(2), 150)
	pk, sk := schema.RollupKey("e", shard.Hour, at(7), "broken")
	r.update(t, r.names.Rollups, pk, sk, "SET v = :v", item{":v": num(9)})
	key := schema.Key{Base: schema.BaseKey{Type: kind.Event, Name: "e"}, Bucket: day.Format(time.DateOnly)}.String()
	for _, hour := range []int{1, 2, 3, 4, 5} {
		for i := range 5 {
			r.delete(t, r.names.Events, key, schema.EventSortKey(at(hour).Add(time.Duration(i)*time.Second), fmt.Sprint("id", i)))
		}
	}
	r.put(t, "e", at(4).Add(time.Minute), 1)
	r.put(t, "e", at(23), 1)
	enginetest.Eventually(t, func() bool { n := r.counted(t, "e", day); return n[4] == 6 && n[23] == 1 })

	a := r.checker(gone)
	if missing, err := a.SettleDay(t.Context(), "e", day, []string{key}); missing != "" || err != nil {
		t.Fatal(missing, err)
	}
	got := map[int]string{}
	_, err := a.Run(t.Context(), a.Stored(schema.BaseKey{Type: kind.Event, Name: "e"}), func(target schema.Target, result rebuild.Result) {
		hour := target.Start.Hour()
		got[hour] = fmt.Sprint(result.Items)
		for _, f := range result.Findings {
			got[hour] += fmt.Sprint(" ", f.State, " ", f.Repaired)
		}
	})
	require.NoError(t, err)
	want := map[int]string{1: "0 fewer true", 2: "0 fewer true", 3: "0 fewer true", 4: "1 fewer false", 5: "0 fewer true", 7: "0 unreadable false", 23: "1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if left := r.counted(t, "e", day); !cmp.Equal(left, map[int]int64{4: 6, 23: 1}) {
		t.Errorf("events in the rollups: %v, want 6 in hour 4 and 1 in hour 23", left)
	}
	// The remedy that a delete's report names.
	found := check(t, r.checker(func(o *rebuild.Options) { o.Repair, o.Lower = true, true }), hourTarget("e", at(4)))
	if len(found) != 1 || !found[0].Repaired {
		t.Errorf("findings %+v, want one that was repaired", found)
	}
}

// TestFoldDuringARetract checks that an event which is folded before the rollup is emptied still counts.
// After a repair with Lower, no deleted event does.
func TestFoldDuringARetract(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, nil)
	day := hour().Truncate(24 * time.Hour)
	r.put(t, "e", day, 8)
	enginetest.Eventually(t, func() bool { return r.counted(t, "e", day)[0] == 8 })
	key := schema.Key{Base: schema.BaseKey{Type: kind.Event, Name: "e"}, Bucket: day.Format(time.DateOnly)}.String()
	for i := range 8 {
		r.delete(t, r.names.Events, key, schema.EventSortKey(day.Add(time.Duration(i)*time.Second), fmt.Sprint("id", i)))
	}
	var once sync.Once
	client := enginetest.Before(r.db, func(in any) error {
		if _, transaction := in.(*dynamodb.TransactWriteItemsInput); transaction {
			once.Do(func() {
				r.put(t, "e", day.Add(time.Minute), 1)
				enginetest.Eventually(t, func() bool { return r.counted(t, "e", day)[0] == 9 })
			})
		}
		return nil
	})
	a := rebuild.New(rebuild.Options{Names: r.names, Repair: true, Gone: true, Wait: 20 * time.Second, Poll: 20 * time.Millisecond}, client)
	if missing, err := a.SettleDay(t.Context(), "e", day, []string{key}); missing != "" || err != nil {
		t.Fatal(missing, err)
	}
	got, err := a.Check(t.Context(), hourTarget("e", day))
	if err != nil || got.Items != 1 || got.Right() {
		t.Fatalf("the check returned %+v, %v; want the new event, and a finding", got, err)
	}
	check(t, r.checker(func(o *rebuild.Options) { o.Repair, o.Lower = true, true }), hourTarget("e", day))
	if n := r.counted(t, "e", day); n[0] != 1 {
		t.Errorf("events in the rollups: %v, want 1 in hour 0; the retract returned %+v", n, got)
	}
}
