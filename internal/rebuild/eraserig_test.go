package rebuild_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// eraseRig is a rig with writers of all kinds of keys.
type eraseRig struct {
	*rig
	boards  *boards.Boards
	leases  *sessions.Store
	limiter *limits.Limiter
	handler *fold.Handler
}

func newEraseRig(t *testing.T) *eraseRig {
	t.Helper()
	r := newRig(t)
	return &eraseRig{
		rig: r, handler: r.aggregator(t, r.db),
		boards:  boards.New(r.db, r.names.Items, r.shards, boards.Options{Retention: retention}),
		leases:  sessions.New(r.db, r.names.Items, r.shards, sessions.Options{}),
		limiter: limits.New(r.db, r.names.Items, r.shards, limits.Options{}),
	}
}

// run runs the aggregator until stop, which drains the streams. If again is true, it delivers the streams
// from their starts.
func (r *eraseRig) run(t testing.TB, again bool) (stop func()) {
	t.Helper()
	name := "aggregator"
	if again {
		name = "again"
	}
	return enginetest.Deliver(t, r.db, r.names, name, r.handler, nil)
}

func (r *eraseRig) options() rebuild.EraserOptions {
	return rebuild.EraserOptions{
		Options: rebuild.Options{Names: r.names, Wait: 40 * time.Second, IndexLag: time.Second, Poll: 200 * time.Millisecond}, Settle: 4 * time.Second,
	}
}

// erase deletes a key, of which nothing may be left.
func (r *eraseRig) erase(t *testing.T, base schema.BaseKey) *rebuild.Erased {
	t.Helper()
	report, ok := r.eraseAll(t, base)
	if !ok {
		t.FailNow()
	}
	return report
}

// eraseAll is erase for goroutines other than the test's.
func (r *eraseRig) eraseAll(t *testing.T, base schema.BaseKey) (report *rebuild.Erased, ok bool) {
	t.Helper()
	report, err := rebuild.NewEraser(r.options(), r.db).Key(t.Context(), base)
	if ok = err == nil && len(report.Left) == 0 && len(report.Kept) == 0; !ok {
		t.Errorf("deleting %s: %v, left %q, kept %q; want nothing left and kept", base, err, report.Left, report.Kept)
	}
	return report, ok
}

// pinned sets a key's number of write shards from a time on. If it is in the past, events use them at once.
func (r *rig) pinned(ctx context.Context, base schema.BaseKey, n int, at time.Time) error {
	changer := libtest.Patient(shardmap.NewChanger(r.db, shardmap.New(r.db, r.names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{}))
	_, err := changer.Pin(ctx, base.String(), n, libtest.Note, at)
	return err
}

func (r *eraseRig) put(t testing.TB, entity string, from time.Time, n int, step time.Duration) {
	t.Helper()
	var list []events.Event
	for i := range n {
		list = append(list, events.Event{Entity: entity, ID: fmt.Sprint("id", i), Time: from.Add(time.Duration(i) * step), Data: item{"t": num(i)}})
	}
	for _, err := range r.events.Put(context.Background(), list, time.Now()) {
		require.NoError(t, err)
	}
}

func (r *eraseRig) submit(t testing.TB, name string, players int, score int) {
	t.Helper()
	r.submitAt(t, name, players, score, time.Now())
}

func (r *eraseRig) submitAt(t testing.TB, name string, players int, score int, now time.Time) {
	t.Helper()
	var list []boards.PlayerScore
	for i := range players {
		s, err := boards.ParseScore(fmt.Sprint(score + i))
		require.NoError(t, err)
		list = append(list, boards.PlayerScore{Player: fmt.Sprint("player", i), Score: s})
	}
	for _, err := range r.boards.Submit(context.Background(), name, list, now) {
		require.NoError(t, err)
	}
}

// tables returns the names of all tables that may have items of a key.
func (r *eraseRig) tables() []string {
	return []string{r.names.Items, r.names.Events, r.names.Rollups, r.names.ShardMap}
}

// wantNothing checks that no item names a key. docs/delete.md says what may stay: expiring items,
// tombstones, and the notes of rechecks.
func (r *eraseRig) wantNothing(t testing.TB, name, when string) {
	t.Helper()
	for _, table := range r.tables() {
		for _, it := range enginetest.Scan(t, r.db, table) {
			if text := fmt.Sprint(plain(it)); strings.Contains(text, name) && !r.mayStay(t, table, it) {
				t.Errorf("left %s: %s", when, text)
			}
		}
	}
}

func (r *eraseRig) mayStay(t testing.TB, table string, it item) bool {
	t.Helper()
	pk := dynamo.Text(it, schema.PK)
	switch table {
	case r.names.ShardMap:
		return it["expires_at"] != nil
	case r.names.Items, r.names.Events:
		return false
	}
	switch {
	case strings.HasPrefix(pk, schema.AckPrefix):
		return it["expires_at"] != nil
	case strings.HasPrefix(pk, schema.NotePrefix):
		return true
	case strings.HasPrefix(pk, "C#"):
		for name := range it {
			if schema.IsValueAttr(name) && dynamo.Digits(it, name) != "0" {
				return false
			}
		}
		return it["gone"] != nil
	case strings.HasPrefix(pk, "E#"):
		return it["expires_at"] != nil && dynamo.Digits(it, "events") == "0" && dynamo.Digits(it, "skipped") == "0"
	case strings.HasPrefix(pk, "L#"):
		part, err := parts.StoredHistogram(it)
		return err == nil && part.Cells() == 0 && it["expires_at"] != nil
	}
	return false
}

// plain returns an item's values without their types.
func plain(it item) map[string]any {
	out := map[string]any{}
	for name, value := range it {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			out[name] = v.Value
		case *types.AttributeValueMemberN:
			out[name] = v.Value
		case *types.AttributeValueMemberB:
			out[name] = string(v.Value)
		case *types.AttributeValueMemberM:
			out[name] = plain(v.Value)
		case *types.AttributeValueMemberBOOL:
			out[name] = v.Value
		case *types.AttributeValueMemberL:
			for i, one := range v.Value {
				out[name+fmt.Sprint(i)] = plain(item{"": one})
			}
		}
	}
	return out
}

func base(kind schema.Kind, name string) schema.BaseKey {
	return schema.BaseKey{Type: kind, Name: name}
}
