package rebuild_test

import (
	"context"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// traffic writes to a key while it is deleted.
type traffic struct {
	write func(n int)

	mu      sync.Mutex
	written int           // number of writes that have ended
	ended   chan struct{} // closed, and replaced, when a write ends
}

// run writes until ctx ends.
func (w *traffic) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		w.write(n)
		w.mu.Lock()
		w.written++
		close(w.ended)
		w.ended = make(chan struct{})
		w.mu.Unlock()
		time.Sleep(100 * time.Millisecond) // on a slow machine the aggregator can't keep up otherwise
	}
}

// client returns a client whose deletions of items, except stream markers, return after a write that began
// later. So the last deletion of a sweep is followed by a write that the sweep misses, however busy the
// machine is.
func (w *traffic) client(ctx context.Context, db *dynamodb.Client) *dynamodb.Client {
	return enginetest.Around(db, func(in any, call func() error) error {
		err := call()
		deletion, ok := in.(*dynamodb.DeleteItemInput)
		if !ok || err != nil {
			return err
		}
		if _, marker := schema.ParseMarker(dynamo.Text(deletion.Key, schema.SK)); marker {
			return nil
		}
		return w.await(ctx)
	})
}

// await waits until two more writes have ended: the first may have begun already.
func (w *traffic) await(ctx context.Context) error {
	w.mu.Lock()
	enough := w.written + 2
	for w.written < enough {
		ended := w.ended
		w.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
		w.mu.Lock()
	}
	w.mu.Unlock()
	return nil
}

// TestTrafficMeanwhile deletes keys that are written to. The deletes end, and keep the new items. The
// summaries equal these items, and the board keeps its settings. A second delete, after the writers have stopped, leaves nothing. All events of the writers are of one hour
// and all scores of one day, whatever the time is.
func TestTrafficMeanwhile(t *testing.T) {
	t.Parallel()
	r := newEraseRig(t)
	counter, entity, game := keys[0], keys[1], keys[3]
	begun, hour := time.Now(), enginetest.Yesterday()
	writes := map[schema.BaseKey]func(int){
		counter: func(int) { r.add(t, counter.Name, 3) },
		entity:  func(n int) { r.put(t, entity.Name, hour.Add(time.Duration(n)*time.Second/2), 1, 0) },
		game:    func(n int) { r.submitAt(t, game.Name, 3, n, begun) },
	}
	for k := range writes {
		r.fill(t, k, 4)
	}
	stop := r.run(t, false)
	defer stop()
	ctx, cancel := context.WithCancel(t.Context())
	o := r.options()
	o.Wait = 20 * time.Second
	var writers, deletions sync.WaitGroup
	for k, write := range writes {
		traffic := &traffic{write: write, ended: make(chan struct{})}
		writers.Go(func() { traffic.run(ctx) })
		deletions.Go(func() { r.eraseUsed(t, traffic.client(ctx, r.db), k, o) })
	}
	deletions.Wait()
	cancel()
	writers.Wait()
	enginetest.Eventually(t, func() bool {
		items, summary := r.sum(t, counter.Name)
		return items.Cmp(summary) == 0
	})
	if items, _ := r.sum(t, counter.Name); items.Sign() <= 0 {
		t.Error("the writers left no increment")
	}
	r.equalTop(t, game.Name)
	r.audited(t, game, entity)
	pk, sk := schema.SettingsKey(game.Name)
	if settings := plain(r.get(t, r.names.Items, pk, sk)); settings["mode"] != "sum" || settings["size"] != "5" {
		t.Errorf("the board's settings are now %v", settings)
	}
	for k := range writes {
		if require.FullRun() || k != counter {
			deletions.Go(func() { r.eraseAll(t, k) })
		}
	}
	deletions.Wait()
	stop()
	for k := range writes {
		if require.FullRun() || k != counter { // a search for a counter takes a thousand queries
			r.wantNothing(t, k.Name, "after the second delete")
		}
	}
}

// eraseUsed deletes a key that is written to, of which something must be kept and nothing left.
func (r *eraseRig) eraseUsed(t *testing.T, client rebuild.Client, k schema.BaseKey, o rebuild.EraserOptions) {
	report, err := rebuild.NewEraser(o, client).Key(t.Context(), k)
	if err != nil || len(report.Kept) == 0 || len(report.Left) > 0 {
		t.Errorf("%s: %+v, %v; want something kept and nothing left", k, report, err)
	}
}

// audited checks that an audit of a board and an entity finds nothing.
func (r *eraseRig) audited(t *testing.T, game, entity schema.BaseKey) {
	t.Helper()
	a := rebuild.New(rebuild.Options{Names: r.names, Rollups: true, Wait: 20 * time.Second, Poll: 200 * time.Millisecond, IndexLag: time.Second}, r.db)
	now := time.Now()
	targets, err := a.Targets(entity, rebuild.Range{From: now.Add(-72 * time.Hour), To: now.Add(time.Hour)})
	require.NoError(t, err)
	report, err := a.Run(t.Context(), rebuild.List(append(targets, schema.Target{Base: game, Period: "all"})...), nil)
	if err != nil || report.Right != report.Targets {
		t.Errorf("the audit: %+v, %v; want nothing found", report, err)
	}
}

// equalTop waits until a board's top equals its entries. It runs the scheduled task, since a fold that
// gives up a busy top leaves a note for it.
func (r *eraseRig) equalTop(t *testing.T, name string) {
	t.Helper()
	var held, places []boards.Place
	var taskErr error
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the top of %q has %v, its entries are %v; the task returned %v", name, held, places, taskErr)
		}
	})
	enginetest.Eventually(t, func() bool {
		_, taskErr = r.handler.Invoke(t.Context(), []byte(fold.BoardsTask))
		top := r.get(t, r.names.Rollups, schema.BoardRollupKey(name, "all"), schema.TopSK)
		if top == nil {
			return false
		}
		stored, err := parts.StoredTop(top)
		require.NoError(t, err)
		if places, err = r.boards.Top(t.Context(), name, "all", 1000, time.Now()); err != nil {
			t.Fatal(err)
		}
		held = nil
		for _, e := range stored.Entries() {
			held = append(held, e.Place)
		}
		return len(held) > 0 && cmp.Equal(held, places[:min(len(held), len(places))], cmp.AllowUnexported(boards.Score{})) && (!stored.Whole() || len(held) == len(places))
	})
}

// sum returns a counter's value by its items, and by write shard 0 and the summary.
func (r *eraseRig) sum(t testing.TB, name string) (items, summary *big.Int) {
	t.Helper()
	items, summary = new(big.Int), new(big.Int)
	add := func(into *big.Int, value types.AttributeValue) {
		if digits, ok := value.(*types.AttributeValueMemberN); ok { // probes have no value
			n, _ := new(big.Int).SetString(digits.Value, 10)
			into.Add(into, n)
		}
	}
	for _, it := range enginetest.Scan(t, r.db, r.names.Items) {
		pk := dynamo.Text(it, schema.PK)
		if strings.HasPrefix(pk, "C#"+name+"#") {
			add(items, it["value"])
		}
		if pk == "C#"+name+"#0" {
			add(summary, it["value"])
		}
	}
	for _, it := range enginetest.Scan(t, r.db, r.names.Rollups) {
		for attr, value := range it {
			if schema.IsValueAttr(attr) && strings.HasPrefix(dynamo.Text(it, schema.PK), "C#"+name+"#") {
				add(summary, value)
			}
		}
	}
	return items, summary
}

// TestOnePlayer checks that the delete of a player removes the player's entries of all periods, and no others, and that
// the aggregator removes the player from the tops.
func TestOnePlayer(t *testing.T) {
	t.Parallel()
	r := newEraseRig(t)
	game := keys[3]
	r.fill(t, game, 3)
	r.run(t, false)()
	r.equalTop(t, game.Name)
	report, err := rebuild.NewEraser(r.options(), r.db).Player(t.Context(), game.Name, "player9")
	if err != nil || report.Deleted[rebuild.Entries] != 3 || len(report.Left) > 0 {
		t.Errorf("%+v, %v; want 3 entries, and nothing left", report, err)
	}
	r.run(t, false)()
	r.equalTop(t, game.Name)
	r.wantNothing(t, "player9", "of the player")
	places, err := r.boards.Top(t.Context(), game.Name, "all", 1000, time.Now())
	if err != nil || len(places) != 39 {
		t.Errorf("%d players are left, want 39; %v", len(places), err)
	}
}
