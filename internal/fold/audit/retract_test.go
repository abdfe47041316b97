package audit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/audit"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
)

// counted lists the hours of an entity's day whose rollups count events, with how many,
// as far as they can be read.
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

// manyParts adds parts of an hour's rollup, of one event each, as of as many stream
// shards.
func (r *rig) manyParts(t *testing.T, entity string, hour time.Time, n int) {
	t.Helper()
	for i := range n {
		pk, sk := schema.RollupKey(entity, shard.Hour, hour, fmt.Sprintf("gone-%03d", i))
		it := keyOf(pk, sk)
		it["v"], it["events"], it["seq"], it["measures"] = num(1), num(1), str(fmt.Sprintf("%040d", i)), &types.AttributeValueMemberM{}
		if _, err := r.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &r.names.Rollups, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRetract: events of five hours are deleted, and two come again: one with an hour
// of its own, and one in an hour that had others. All but these two are emptied, also
// the one of 150 stream shards, and one that can't be read stays.
func TestRetract(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, nil)
	day := hour().Truncate(24 * time.Hour)
	at := func(hour int) time.Time { return day.Add(time.Duration(hour) * time.Hour) }
	for _, hour := range []int{1, 2, 3, 4, 5} {
		r.put(t, "e", at(hour), 5)
	}
	r.await(t, func() bool { return len(r.counted(t, "e", day)) == 5 })
	r.manyParts(t, "e", at(2), 150)
	pk, sk := schema.RollupKey("e", shard.Hour, at(7), "broken")
	r.update(t, r.names.Rollups, pk, sk, "SET v = :v", map[string]types.AttributeValue{":v": num(9)})
	key := schema.Key{Base: schema.BaseKey{Type: kind.Event, Name: "e"}, Bucket: day.Format(time.DateOnly)}.String()
	for _, hour := range []int{1, 2, 3, 4, 5} {
		for i := range 5 {
			r.delete(t, r.names.Events, key, schema.EventSortKey(at(hour).Add(time.Duration(i)*time.Second), fmt.Sprint("id", i)))
		}
	}
	r.put(t, "e", at(4).Add(time.Minute), 1)
	r.put(t, "e", at(23), 1)
	r.await(t, func() bool { n := r.counted(t, "e", day); return n[4] == 6 && n[23] == 1 })

	a := r.auditor(t, gone)
	if missing, err := a.SettleDay(t.Context(), "e", day, []string{key}); missing != "" || err != nil {
		t.Fatal(missing, err)
	}
	got := map[int]string{}
	_, err := a.Run(t.Context(), a.Stored(schema.BaseKey{Type: kind.Event, Name: "e"}), func(target schema.Target, result audit.Result) {
		hour := target.Start.Hour()
		got[hour] = fmt.Sprint(result.Items)
		for _, f := range result.Findings {
			got[hour] += fmt.Sprint(" ", f.State, " ", f.Repaired)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]string{1: "0 fewer true", 2: "0 fewer true", 3: "0 fewer true", 4: "1 fewer false", 5: "0 fewer true", 7: "0 unreadable false", 23: "1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if left := r.counted(t, "e", day); !cmp.Equal(left, map[int]int64{4: 6, 23: 1}) {
		t.Errorf("left: %v", left)
	}
	// The remedy.
	found := check(t, r.auditor(t, func(o *audit.Options) { o.Repair, o.Fewer = true, true }), hourTarget("e", at(4)))
	if len(found) != 1 || !found[0].Repaired {
		t.Errorf("%+v", found)
	}
}

// TestRetractMeetsAFold: before the parts of a rollup are emptied an event comes and is
// folded into one of them. It is counted, and no deleted one beside it once
// that was put right.
func TestRetractMeetsAFold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, nil)
	day := hour().Truncate(24 * time.Hour)
	r.put(t, "e", day, 8)
	r.await(t, func() bool { return r.counted(t, "e", day)[0] == 8 })
	key := schema.Key{Base: schema.BaseKey{Type: kind.Event, Name: "e"}, Bucket: day.Format(time.DateOnly)}.String()
	for i := range 8 {
		r.delete(t, r.names.Events, key, schema.EventSortKey(day.Add(time.Duration(i)*time.Second), fmt.Sprint("id", i)))
	}
	var once sync.Once
	client := &transacting{r.db, func() {
		once.Do(func() {
			r.put(t, "e", day.Add(time.Minute), 1)
			r.await(t, func() bool { return r.counted(t, "e", day)[0] == 9 })
		})
	}}
	a := r.auditorOver(t, client, audit.Options{Names: r.names, Repair: true, Gone: true, Wait: 20 * time.Second, Poll: 20 * time.Millisecond})
	if missing, err := a.SettleDay(t.Context(), "e", day, []string{key}); missing != "" || err != nil {
		t.Fatal(missing, err)
	}
	got, err := a.Check(t.Context(), hourTarget("e", day))
	if err != nil || got.Items != 1 || got.Right() {
		t.Fatalf("%+v, %v", got, err)
	}
	check(t, r.auditor(t, func(o *audit.Options) { o.Repair, o.Fewer = true, true }), hourTarget("e", day))
	if n := r.counted(t, "e", day); n[0] != 1 {
		t.Errorf("%v are counted, of one event: %+v", n, got)
	}
}

// transacting does something before each transaction.
type transacting struct {
	*dynamodb.Client
	do func()
}

func (u *transacting) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	u.do()
	return u.Client.TransactWriteItems(ctx, in, o...)
}

func (r *rig) await(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to that")
		}
	}
}
