package rebuild_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// doomed is in the names of the deleted keys, and in no other item.
const doomed = "doomed"

// keys are deleted.
var keys = []schema.BaseKey{
	base(schema.Counter, doomed+"/a#1"), base(schema.Event, doomed+"/b#2026-01-05#3"), base(schema.Event, "day"+doomed),
	base(schema.Board, doomed+"#all#c"), base(schema.Session, doomed+"é"), base(schema.Limit, "ip#60#"+doomed),
}

// neighbours stay. Their names resemble those of keys.
var neighbours = []schema.BaseKey{
	base(schema.Counter, "a"), base(schema.Counter, "a#1"), base(schema.Event, "b"), base(schema.Event, "b#2026-01-05"),
	base(schema.Board, "c"), base(schema.Board, "c#all"), base(schema.Session, "é"),
	base(schema.Limit, "ip"), base(schema.Limit, "ip#60"),
}

// fill writes each form of item that a key may have.
func (r *eraseRig) fill(t *testing.T, k schema.BaseKey, shards int) {
	t.Helper()
	now := time.Now()
	if shards > 1 {
		require.NoError(t, r.pinned(t.Context(), k, shards, now.Add(-96*time.Hour)))
		_, err := r.shards.Lookup(t.Context(), k.String(), now.Add(shardmap.ViewAge+time.Second))
		require.NoError(t, err)
	}
	switch k.Type {
	case schema.Counter:
		for i := range 3 * shards {
			r.add(t, k.Name, int64(i+1))
		}
		r.putItem(t, r.names.Items, k.String()+"#0", schema.ProbeSK, item{})
		r.putItem(t, r.names.Rollups, r.failure(schema.SummaryKey(k.Name, 0)), schema.SummaryKey(k.Name, 0), item{})
	case schema.Event:
		r.put(t, k.Name, now.Add(-60*time.Hour), 60, time.Hour-time.Minute)
		r.putItem(t, r.names.Events, schema.Key{Base: k, Bucket: "1969-07-20", Shard: 0}.String(), "1969-07-20T20:17:40.000Z#id", item{})
		target := schema.EventTarget(k.Name, now)
		r.putItem(t, r.names.Rollups, r.failure(target), target, item{})
	case schema.Board:
		require.NoError(t, r.boards.Configure(t.Context(), k.Name, boards.Settings{Mode: boards.Total, Size: 5, Periods: []boards.Period{boards.AllTime, boards.Daily, boards.Weekly}}))
		r.submitAt(t, k.Name, 40, 1, now) // on one day
		r.submitAt(t, k.Name, 10, 100, now)
		r.putItem(t, r.names.Items, schema.ProbeSK+"#"+schema.BoardShardKey(k.Name, "all", 0), schema.ProbeSK, item{})
		pk, _ := schema.EntryKey(k.Name, "all", "player1") // beside a stream marker that a killed audit left
		r.putItem(t, r.names.Items, pk, schema.BoardMarkerSK(now, "01ARZ3NDEKTSV4RRFFQ69G5FAV", 3), item{})
	case schema.Session:
		for i := range 10 {
			_, err := r.leases.Put(t.Context(), sessions.Lease{Group: k.Name, ID: fmt.Sprint("id", i), TTL: time.Hour}, now)
			require.NoError(t, err)
		}
	case schema.Limit:
		for range 5 {
			_, err := r.limiter.Hit(t.Context(), limits.Limit{Key: k.Name, Max: 100, Window: time.Minute}, now)
			require.NoError(t, err)
		}
	}
}

func (r *eraseRig) failure(target string) string {
	pk, _ := schema.FailureKey(target)
	return pk
}

// others returns the items, as text, that name no deleted key.
func (r *eraseRig) others(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, table := range r.tables() {
		for _, it := range enginetest.Scan(t, r.db, table) {
			delete(it, "as_of") // folds that change nothing set it
			text := plain(it)
			pk := fmt.Sprint(text["pk"])
			if !strings.Contains(fmt.Sprint(text), doomed) && !strings.HasPrefix(pk, "log#") && !strings.HasPrefix(pk, schema.NotePrefix) {
				out[fmt.Sprint(table, text["pk"], text["sk"])] = fmt.Sprint(text)
			}
		}
	}
	return out
}

// TestNothingIsLeft deletes a key of each type, with all its forms of items and many write shards. Other
// keys stay as they are. A redelivery of the whole stream restores nothing.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	r := newEraseRig(t)
	for i, k := range keys {
		r.fill(t, k, []int{require.UnlessQuick(70, 9), 5, 2, 3, 4, 3}[i])
	}
	for i, k := range neighbours {
		r.fill(t, k, i%2+1)
	}
	r.run(t, false)() // later folds are of deleted keys only
	before := r.others(t)
	stop := r.run(t, false)
	defer stop()
	var all sync.WaitGroup
	for _, k := range keys {
		all.Go(func() { r.eraseAll(t, k) })
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for _, k := range keys {
		if !repeats(k) {
			continue
		}
		if again := r.erase(t, k); len(again.Deleted) > 0 {
			t.Errorf("%s %q: the second delete deleted %v, want nothing", k.Type, k.Name, again.Deleted)
		}
	}
	r.wantNothing(t, doomed, "after the deletes")
	if diff := cmp.Diff(before, r.others(t)); diff != "" {
		t.Errorf("other keys changed (-before +after):\n%s", diff)
	}
	stop()
	r.run(t, true)()
	r.wantNothing(t, doomed, "after the redelivery")
}

// repeats reports whether this run deletes a key twice. Each search for a counter or sessions queries a thousand partitions, so only the long lane does.
func repeats(k schema.BaseKey) bool {
	return require.LongRun || k.Type != schema.Counter && k.Type != schema.Session
}
