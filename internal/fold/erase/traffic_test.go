package erase_test

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

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/audit"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/erase"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// traffic is a client for the deletion of a key that somebody writes to. Its deletions of
// items, but for marks, return when a write has been done that began after them. So the
// last of a sweep is followed by a write that the sweep doesn't meet, however busy the
// machine is.
type traffic struct {
	*dynamodb.Client
	write func(n int)

	mu      sync.Mutex
	written int           // writes that have ended
	ended   chan struct{} // closed, and made anew, when another has
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
		time.Sleep(100 * time.Millisecond) // or the aggregator can't keep up where it has little time
	}
}

func (w *traffic) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	out, err := w.Client.DeleteItem(ctx, in, o...)
	if _, mark := schema.ParseMark(plain(in.Key)["sk"].(string)); mark || err != nil {
		return out, err
	}
	return out, w.await(ctx)
}

// await waits for the second write from now on to end: the first may have begun already.
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

// TestTrafficMeanwhile: writers go on while keys are deleted. The commands end, what was
// there before is gone, and what the writers leave is kept, and is what the summaries say,
// but for rollups that are named. The board keeps its settings. Deleted once more, when
// they have stopped, nothing is left. All events that are written meanwhile are of one hour,
// and all scores of one day, whatever the time is.
func TestTrafficMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
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
		client := &traffic{Client: r.db, write: write, ended: make(chan struct{})}
		writers.Go(func() { client.run(ctx) })
		deletions.Go(func() { r.eraseUsed(t, client, k, o) })
	}
	deletions.Wait()
	cancel()
	writers.Wait()
	r.await(t, func() bool {
		items, summary := r.sum(t, counter.Name)
		return items.Cmp(summary) == 0
	})
	if items, _ := r.sum(t, counter.Name); items.Sign() <= 0 {
		t.Error("no increment came after the counter was deleted")
	}
	r.equalTop(t, game.Name)
	r.audited(t, game, entity)
	pk, sk := schema.SettingsKey(game.Name)
	if settings := plain(r.get(t, r.names.Items, pk, sk)); settings["mode"] != "sum" || settings["size"] != "5" {
		t.Errorf("the board's settings are now %v", settings)
	}
	for k := range writes {
		deletions.Go(func() { r.eraseAll(t, k) })
	}
	deletions.Wait()
	stop()
	if left := r.leftovers(t, doomed); len(left) > 0 {
		t.Errorf("left:\n%s", strings.Join(left, "\n"))
	}
}

// eraseUsed deletes a key that is written to.
func (r *rig) eraseUsed(t *testing.T, client erase.Client, k schema.BaseKey, o erase.Options) {
	report, err := r.eraser(t, client, o).Key(t.Context(), k)
	if err != nil || len(report.Kept) == 0 {
		t.Errorf("%s %q: %+v, %v", k.Type, k.Name, report, err)
	}
	for _, left := range report.Left {
		if k.Type != kind.Event || !strings.Contains(left, "hotshard rebuild --fewer --type entity") {
			t.Errorf("%s %q: left: %s", k.Type, k.Name, left)
		}
	}
	t.Logf("%s %q: kept %q, left %q", k.Type, k.Name, report.Kept, report.Left)
}

// audited runs what a report names as the remedy, and wants nothing to be wrong after
// that.
func (r *rig) audited(t *testing.T, game, entity schema.BaseKey) {
	t.Helper()
	rules, err := fold.ParseRules(`[{"every":"1h"}]`)
	if err != nil {
		t.Fatal(err)
	}
	a := audit.New(audit.Options{
		Names: r.names, Rules: rules, Wait: 20 * time.Second, Poll: 200 * time.Millisecond, IndexLag: time.Second, Repair: true, Fewer: true,
	}, r.db)
	now := time.Now()
	targets, err := a.Targets(entity, audit.Range{From: now.Add(-72 * time.Hour), To: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	report, err := a.Run(t.Context(), audit.List(append(targets, schema.Target{Base: game, Period: "all"})...), nil)
	if err != nil || report.Bad() > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	for _, f := range report.Findings {
		if f.State != audit.Fewer && f.State != audit.Restated {
			t.Errorf("the summary of what is kept was wrong: %+v", f)
		}
	}
}

// equalTop waits until a board's top is what its entries say. It calls the scheduled task,
// since a fold gives up when the top is too busy, and leaves a note for that.
func (r *rig) equalTop(t *testing.T, name string) {
	t.Helper()
	var held, places []boards.Place
	var looked error
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the top of %q has %v, its entries are %v; the last look: %v", name, held, places, looked)
		}
	})
	r.await(t, func() bool {
		_, looked = r.handler.Invoke(t.Context(), []byte(fold.BoardsTask))
		top := r.get(t, r.names.Rollups, schema.BoardRollupKey(name, "all"), schema.TopSK)
		if top == nil {
			return false
		}
		stored, err := board.StoredTop(top)
		if err != nil {
			t.Fatal(err)
		}
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

func (r *rig) get(t *testing.T, table, pk, sk string) item {
	t.Helper()
	out, err := r.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: item{"pk": str(pk), "sk": str(sk)}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

// sum is a counter by its items, and by write shard 0 and its summary.
func (r *rig) sum(t testing.TB, name string) (items, summary *big.Int) {
	t.Helper()
	items, summary = new(big.Int), new(big.Int)
	take := func(into *big.Int, value types.AttributeValue) {
		if digits, ok := value.(*types.AttributeValueMemberN); ok { // a probe has none
			n, _ := new(big.Int).SetString(digits.Value, 10)
			into.Add(into, n)
		}
	}
	for _, it := range r.all(t, r.names.Items) {
		pk := it["pk"].(*types.AttributeValueMemberS).Value
		if strings.HasPrefix(pk, "C#"+name+"#") {
			take(items, it["value"])
		}
		if pk == "C#"+name+"#0" {
			take(summary, it["value"])
		}
	}
	for _, it := range r.all(t, r.names.Rollups) {
		for attr, value := range it {
			if schema.IsValueAttr(attr) && strings.HasPrefix(it["pk"].(*types.AttributeValueMemberS).Value, "C#"+name+"#") {
				take(summary, value)
			}
		}
	}
	return items, summary
}

// TestOnePlayer: of a board only that player's entries go, in all periods; the tops
// follow.
func TestOnePlayer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	game := keys[3]
	r.fill(t, game, 3)
	stop := r.run(t, false)
	defer stop()
	r.equalTop(t, game.Name)
	dry := r.options()
	dry.DryRun = true
	counted, err := r.eraser(t, r.db, dry).Player(t.Context(), game.Name, "player9")
	if err != nil || counted.Deleted[erase.Entries] != 3 {
		t.Errorf("a dry run: %+v, %v", counted, err)
	}
	report, err := r.eraser(t, r.db, r.options()).Player(t.Context(), game.Name, "player9")
	if err != nil || report.Deleted[erase.Entries] != 3 || len(report.Left) > 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	if left := r.leftovers(t, "player9"); len(left) > 0 {
		t.Errorf("left:\n%s", strings.Join(left, "\n"))
	}
	r.equalTop(t, game.Name)
	places, err := r.boards.Top(t.Context(), game.Name, "all", 1000, time.Now())
	if err != nil || len(places) != 39 {
		t.Errorf("%d players are left, %v", len(places), err)
	}
}
