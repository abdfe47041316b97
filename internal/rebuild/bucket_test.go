package rebuild_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

func (r *rig) parts(t testing.TB, entity string, at time.Time) []parts.Part[parts.Rollup] {
	t.Helper()
	return r.read(t, parts.Bucket{Entity: entity, Start: at})
}

func (r *rig) read(t testing.TB, b parts.Bucket) []parts.Part[parts.Rollup] {
	t.Helper()
	list, err := parts.NewEvents(r.db, r.names.Rollups, time.Now).Read(context.Background(), b.Key())
	require.NoError(t, err)
	return list
}

// part returns the key of a fragment that has events.
func (r *rig) part(t testing.TB, entity string, at time.Time) (pk, sk string) {
	t.Helper()
	for _, p := range r.parts(t, entity, at) {
		if p.Value.Events > 0 {
			return schema.RollupKey(entity, at, p.StreamShard)
		}
	}
	t.Fatalf("the rollup of %s is empty", entity)
	return "", ""
}

// folded waits until an hour's rollup has this number of events.
func (r *rig) folded(t testing.TB, entity string, at time.Time, events int64) {
	t.Helper()
	enginetest.Eventually(t, func() bool { return r.eventsIn(t, entity, at) == events })
}

// wantNoMarkers checks that checks deleted their stream markers.
func (r *rig) wantNoMarkers(t *testing.T) {
	t.Helper()
	for _, table := range schema.StreamTables() {
		for _, it := range enginetest.Scan(t, r.db, r.names.Table(table)) {
			if _, ok := schema.ParseMarker(dynamo.Text(it, schema.SK)); ok {
				t.Errorf("a stream marker is left in %s: %v", table, it)
			}
		}
	}
}

// TestBucketsThatCannotBeCompared checks that a check names why, and that a repair leaves the rollup as it is.
func TestBucketsThatCannotBeCompared(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := hour()
	r.put(t, "unreadable", at, 2)
	r.update(t, r.names.Events, "E#unreadable#"+at.Format(time.DateOnly)+"#0", schema.EventSortKey(at, "id0"), "SET #data = :d", item{":d": dynamo.String("x")})
	r.put(t, "damaged", at, 2)
	r.put(t, "unsettled", at, 2)
	r.put(t, "expired", at, 2)
	r.update(t, r.names.Events, "E#expired#"+at.Format(time.DateOnly)+"#0", schema.EventSortKey(at, "id0"),
		"SET expires_at = :e", item{":e": num(time.Now().Add(time.Minute + schema.ExpirySpread("id0")).Unix())}) // others of its day expire soon
	r.fold(t)
	pk, sk := r.part(t, "damaged", at)
	r.update(t, r.names.Rollups, pk, sk, "SET events = :e", item{":e": dynamo.String("x")})
	pk, sk = r.part(t, "unsettled", at)
	r.update(t, r.names.Rollups, pk, sk, "SET events = :e", item{":e": num(9)})
	for _, c := range []struct {
		entity string
		at     time.Time
		state  rebuild.State
		detail string
		set    func(*rebuild.Options)
	}{
		{"unreadable", at, rebuild.Unreadable, `#id0": its attribute data is not a map`, nil},
		{"damaged", at, rebuild.Unreadable, `its "events" can't be read`, nil},
		{"unsettled", at, rebuild.Unsettled, "2 of 2 stream markers did not come through the stream within 50ms", nil},
		{"expired", at, rebuild.TooOld, "an event has expired", nil},
		{"old", at.Add(-retention), rebuild.TooOld, "", nil},
		{"old", at.Add(-retention - 24*time.Hour), rebuild.TooOld, "", nil},
		{"old rollup", at.Add(-24 * time.Hour), rebuild.TooOld, "", func(o *rebuild.Options) { o.RollupRetention = 24 * time.Hour }},
	} {
		for _, repair := range []bool{false, true} {
			before := r.stored(t, c.entity, c.at)
			found := check(t, r.checker(func(o *rebuild.Options) {
				o.Repair, o.Wait = repair, 50*time.Millisecond
				if c.set != nil {
					c.set(o)
				}
			}), hourTarget(c.entity, c.at))
			if len(found) != 1 || found[0].State != c.state || found[0].Repaired || !strings.Contains(found[0].Detail, c.detail) {
				t.Errorf("%s, repair %t: findings %+v, want one, %s", c.entity, repair, found, c.state)
			}
			if after := r.stored(t, c.entity, c.at); after != before {
				t.Errorf("%s, repair %t: the rollup was %s and is %s", c.entity, repair, before, after)
			}
		}
	}
}

// stored returns a rollup's fragments as text.
func (r *rig) stored(t testing.TB, entity string, at time.Time) string {
	t.Helper()
	pk, _ := schema.RollupKey(entity, at, "")
	var list []string
	for _, it := range enginetest.Query(t, r.db, r.names.Rollups, pk) {
		list = append(list, fmt.Sprint(it["sk"], it["seq"], it["events"]))
	}
	return strings.Join(list, ", ")
}

// TestBusyBucket checks that a check gives up a rollup into which something is folded after each read. It
// counts as bad from an hour after its end.
func TestBusyBucket(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := hour()
	r.put(t, "e", at, 4)
	r.fold(t)
	pk, sk := r.part(t, "e", at)
	r.update(t, r.names.Rollups, pk, sk, "SET events = :e", item{":e": num(90)})
	client := beforePut(r.acknowledging(r.db, 0), func() {
		r.update(t, r.names.Rollups, pk, sk, "SET seq = :s", item{":s": dynamo.String(fmt.Sprintf("%040d", time.Now().UnixNano()))})
	})
	a := rebuild.New(rebuild.Options{Names: r.names, Rollups: true, Repair: true, Lower: true, Wait: 20 * time.Second, Poll: time.Millisecond}, client)
	if found := check(t, a, hourTarget("e", at)); len(found) != 1 || found[0].State != rebuild.Busy || found[0].Repaired {
		t.Fatalf("findings %+v, want one, busy and not repaired", found)
	}
	for now, bad := range map[time.Time]int{at.Add(119 * time.Minute): 0, at.Add(121 * time.Minute): 1} {
		begun := time.Now()
		a := rebuild.New(rebuild.Options{
			Names: r.names, Rollups: true, Repair: true, Lower: true, Wait: 20 * time.Second, Poll: time.Millisecond,
			Now: func() time.Time { return now.Add(time.Since(begun)) },
		}, client)
		report, err := a.Run(t.Context(), rebuild.List(hourTarget("e", at)), nil)
		if err != nil || report.Bad() != bad || report.Open != 1-bad || report.States[rebuild.Open] != 1-bad {
			t.Errorf("at %v: %+v, %v; want %d bad", now, report, err, bad)
		}
	}
	r.wantNoMarkers(t)
}

// beforePut returns a client that calls do before each PutItem, which checks use for stream markers.
func beforePut(client *dynamodb.Client, do func()) *dynamodb.Client {
	return enginetest.Before(client, func(in any) error {
		if _, put := in.(*dynamodb.PutItemInput); put {
			do()
		}
		return nil
	})
}
