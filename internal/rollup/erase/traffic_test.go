package erase_test

import (
	"context"
	"math/big"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/rollup/erase"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

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

// sum is a counter by its items, and by its summary.
func (r *rig) sum(t testing.TB, name string) (items, summary *big.Int) {
	t.Helper()
	items, summary = new(big.Int), new(big.Int)
	take := func(into *big.Int, value types.AttributeValue) {
		if digits, ok := value.(*types.AttributeValueMemberN); ok { // a beat has none
			n, _ := new(big.Int).SetString(digits.Value, 10)
			into.Add(into, n)
		}
	}
	for _, it := range r.all(t, r.names.Items) {
		if strings.HasPrefix(it["pk"].(*types.AttributeValueMemberS).Value, "C#"+name+"#") {
			take(items, it["value"])
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
