package erase_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/rollup/erase"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// doomed is in the names of keys that are to go, and in nothing else.
const doomed = "doomed"

// keys of which one of each type is deleted.
var keys = []schema.BaseKey{
	base(schema.Counter, doomed+"/a#1"), base(schema.Entity, doomed+"/b#2026-01-05#3"), base(schema.Entity, "day"+doomed),
	base(schema.Board, doomed+"#all#c"), base(schema.Sessions, doomed+"é"),
}

// neighbours have names that are close to theirs.
var neighbours = []schema.BaseKey{
	base(schema.Counter, "a"), base(schema.Counter, "a#1"), base(schema.Entity, "b"), base(schema.Entity, "b#2026-01-05"),
	base(schema.Board, "c"), base(schema.Board, "c#all"), base(schema.Sessions, "é"),
}

// fill writes to a key, of all that a key may have.
func (r *rig) fill(t *testing.T, k schema.BaseKey, shards int) {
	t.Helper()
	now := time.Now()
	if shards > 1 {
		r.pin(t, k, shards, now.Add(-96*time.Hour))
		if _, err := r.shards.Lookup(t.Context(), k.String(), now.Add(ddb.ViewAge+time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	switch k.Type {
	case schema.Counter:
		for i := range 3 * shards {
			r.add(t, k.Name, int64(i+1))
		}
		r.putItem(t, r.names.Items, k.String()+"#0", schema.BeatSK)
		r.putItem(t, r.names.Rollups, r.failure(schema.SummaryKey(k.Name, 0)), schema.SummaryKey(k.Name, 0))
	case schema.Entity:
		r.put(t, k.Name, now.Add(-50*time.Hour), 60, time.Hour-time.Minute)
		r.putItem(t, r.names.Items, schema.Key{Base: k, Bucket: "1969-07-20", Shard: 0}.String(), "1969-07-20T20:17:40.000Z#id")
		target := schema.EventTarget(k.Name, "hour", now)
		r.putItem(t, r.names.Rollups, r.failure(target), target)
	case schema.Board:
		if err := r.boards.Configure(t.Context(), k.Name, ddb.BoardSettings{Mode: ddb.Total, Size: 5, Periods: []ddb.Period{ddb.AllTime, ddb.Daily, ddb.Weekly}}); err != nil {
			t.Fatal(err)
		}
		r.submit(t, k.Name, 40, 1)
		r.submit(t, k.Name, 10, 100)
		r.putItem(t, r.names.Items, schema.ProbeSK+"#"+schema.BoardShardKey(k.Name, "all", 0), schema.ProbeSK)
	case schema.Sessions:
		for i := range 10 {
			r.putItem(t, r.names.Items, schema.Key{Base: k, Shard: i % shards}.String(), fmt.Sprint("id", i))
		}
	}
	pk, sk := schema.SightingKey(k, now, "writer")
	r.putItem(t, r.names.Items, pk, sk)
}

func (r *rig) failure(target string) string {
	pk, _ := schema.FailureKey(target)
	return pk
}

func (r *rig) putItem(t *testing.T, table, pk, sk string) {
	t.Helper()
	_, err := r.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item{"pk": str(pk), "sk": str(sk)}})
	if err != nil {
		t.Fatal(err)
	}
}

// others shows all that names none of the keys that are to go.
func (r *rig) others(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, table := range []string{r.names.Items, r.names.Rollups, r.names.ShardMap} {
		for _, it := range r.all(t, table) {
			delete(it, "as_of") // of folds that change nothing
			text := plain(it)
			pk := fmt.Sprint(text["pk"])
			if !strings.Contains(fmt.Sprint(text), doomed) && !strings.HasPrefix(pk, "log#") && !strings.HasPrefix(pk, schema.NotePrefix) {
				out[fmt.Sprint(table, text["pk"], text["sk"])] = fmt.Sprint(text)
			}
		}
	}
	return out
}

// TestNothingIsLeft: of each type, whatever a key has, and with as many write shards
// as it may have had; other keys stay as they are. Then the whole stream comes again,
// and brings nothing back.
func TestNothingIsLeft(t *testing.T) {
	r := newRig(t)
	for i, k := range keys {
		r.fill(t, k, []int{70, 5, 2, 3, 4}[i])
	}
	for i, k := range neighbours {
		r.fill(t, k, i%2+1)
	}
	stop := r.run(t, false)
	defer stop()
	for _, k := range neighbours { // whose folds may still come
		if k.Type == schema.Counter {
			r.await(t, func() bool { items, summary := r.sum(t, k.Name); return items.Cmp(summary) == 0 })
		}
	}
	r.rest(t)
	before := r.others(t)
	var all sync.WaitGroup
	for _, k := range keys {
		all.Go(func() { r.eraseCounted(t, k) })
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for _, k := range keys {
		if again := r.erase(t, k); len(again.Deleted) > 0 {
			t.Errorf("%s %q: deleted again: %v", k.Type, k.Name, again.Deleted)
		}
	}
	if left := r.leftovers(t, doomed); len(left) > 0 {
		t.Errorf("left:\n%s", strings.Join(left, "\n"))
	}
	if diff := cmp.Diff(before, r.others(t)); diff != "" {
		t.Errorf("other keys:\n%s", diff)
	}
	stop()
	r.run(t, true)()
	if left := r.leftovers(t, doomed); len(left) > 0 {
		t.Errorf("brought back:\n%s", strings.Join(left, "\n"))
	}
}

// eraseCounted deletes a key, of which a dry run has to see all.
func (r *rig) eraseCounted(t *testing.T, k schema.BaseKey) {
	dry := r.options()
	dry.DryRun = true
	counted, err := r.eraser(t, r.db, dry).Key(t.Context(), k)
	if err != nil {
		t.Error(err)
	}
	report, err := r.eraser(t, r.db, r.options()).Key(t.Context(), k)
	if err != nil || len(report.Left) > 0 {
		t.Errorf("%s %q: %v, left %q", k.Type, k.Name, err, report.Left)
	}
	t.Logf("%s %q: %v", k.Type, k.Name, report.Deleted)
	for what, n := range counted.Deleted {
		if what != erase.Summaries && report.Deleted[what] != n { // folds go on
			t.Errorf("%s %q: a dry run counts %d %s, %d were deleted", k.Type, k.Name, n, what, report.Deleted[what])
		}
	}
}

func (r *rig) await(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to that")
		}
	}
}

// rest waits until the rollups table is at rest.
func (r *rig) rest(t *testing.T) {
	t.Helper()
	last := map[string]string{}
	r.await(t, func() bool {
		now := r.others(t)
		same := maps.Equal(last, now)
		last = now
		time.Sleep(500 * time.Millisecond)
		return same
	})
}

var errKilled = errors.New("killed")

// mortal is a client that fails for good after so many writes.
type mortal struct {
	*dynamodb.Client
	left atomic.Int64
}

func (m *mortal) die() error {
	if m.left.Add(-1) < 0 {
		return errKilled
	}
	return nil
}

func (m *mortal) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	if err := m.die(); err != nil {
		return nil, err
	}
	return m.Client.DeleteItem(ctx, in, o...)
}

func (m *mortal) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := m.die(); err != nil {
		return nil, err
	}
	return m.Client.UpdateItem(ctx, in, o...)
}

func (m *mortal) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := m.die(); err != nil {
		return nil, err
	}
	return m.Client.PutItem(ctx, in, o...)
}

func (m *mortal) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := m.die(); err != nil {
		return nil, err
	}
	return m.Client.TransactWriteItems(ctx, in, o...)
}

// TestKilledAndCalledAgain: after some writes, each time some more, the process dies;
// the last one finishes. The aggregator is behind in the meantime: it starts only
// after the first two deaths.
func TestKilledAndCalledAgain(t *testing.T) {
	for _, k := range keys[:4] {
		t.Run(string(k.Type), func(t *testing.T) {
			r := newRig(t)
			r.fill(t, k, 3)
			o := r.options()
			o.Wait = time.Second
			deaths, stop := 0, func() {}
			for writes := int64(1); ; writes += writes/2 + 1 {
				if deaths == 2 {
					stop = r.run(t, false)
					o.Wait = 40 * time.Second
				}
				client := &mortal{Client: r.db}
				client.left.Store(writes)
				report, err := r.eraser(t, client, o).Key(t.Context(), k)
				if err == nil && len(report.Left) == 0 {
					break
				}
				if err != nil && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				deaths++
			}
			if deaths < 2 {
				t.Errorf("it died %d times", deaths)
			}
			stop()
			r.run(t, true)()
			if left := r.leftovers(t, doomed); len(left) > 0 {
				t.Errorf("left:\n%s", strings.Join(left, "\n"))
			}
		})
	}
}

// TestTrafficMeanwhile: writers go on while a key is deleted. What they leave agrees
// with the summaries; deleted once more, when they have stopped, nothing is left.
func TestTrafficMeanwhile(t *testing.T) {
	r := newRig(t)
	counter, entity, game := keys[0], keys[1], keys[3]
	for _, k := range []schema.BaseKey{counter, entity, game} {
		r.fill(t, k, 4)
	}
	stop := r.run(t, false)
	defer stop()
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	var written atomic.Int64
	for w := range 2 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				r.add(t, counter.Name, 3)
				r.put(t, entity.Name, time.Now().Add(-time.Duration(w*1000+i)*time.Second), 1, 0)
				r.submit(t, game.Name, 3, i)
				written.Add(3)
			}
		})
	}
	o := r.options()
	o.Wait = time.Second
	var deletions sync.WaitGroup
	for _, k := range []schema.BaseKey{counter, entity, game} {
		deletions.Go(func() {
			report, err := r.eraser(t, r.db, o).Key(t.Context(), k)
			if err != nil {
				t.Error(err)
			} else if len(report.Left) == 0 {
				t.Errorf("%s %q is deleted whole while %d writes came", k.Type, k.Name, written.Load())
			}
		})
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
	for _, k := range []schema.BaseKey{counter, entity, game} {
		r.erase(t, k)
	}
	stop()
	if left := r.leftovers(t, doomed); len(left) > 0 {
		t.Errorf("left:\n%s", strings.Join(left, "\n"))
	}
}

// equalTop waits until a board's top is what its entries say.
func (r *rig) equalTop(t *testing.T, name string) {
	t.Helper()
	r.await(t, func() bool {
		top := r.get(t, r.names.Rollups, schema.BoardRollupKey(name, "all"), schema.TopSK)
		if top == nil {
			return false
		}
		stored, err := board.StoredTop(top)
		if err != nil {
			t.Fatal(err)
		}
		places, err := r.boards.Top(t.Context(), name, "all", 1000, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var held []ddb.Place
		for _, e := range stored.Entries() {
			held = append(held, e.Place)
		}
		return len(held) > 0 && cmp.Equal(held, places[:min(len(held), len(places))], cmp.AllowUnexported(ddb.Score{})) && (!stored.Whole() || len(held) == len(places))
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

// TestOnePlayer: of a board only that player's entries go, in all periods; the tops
// follow.
func TestOnePlayer(t *testing.T) {
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
