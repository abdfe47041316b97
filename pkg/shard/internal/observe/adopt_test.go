package observe_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestRetryUsesCountOfObserver checks that a call's next attempt uses the count and version that the previous attempt's
// observer has added to the view.
func TestRetryUsesCountOfObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := enginetest.NewMapTable(10, 0, 0)
		shards, now := shardmap.New(table, "m", shardmap.Options{}), time.Now()
		changer := shardmap.NewChanger(table, shards, shardmap.ChangerOptions{})
		if _, err := shards.Lookup(t.Context(), "C#a", now); err != nil {
			t.Fatal(err)
		}
		grow := func(key string) func() {
			return func() {
				_, _ = libtest.Grow(t.Context(), changer, key, 64, now) // after the second throttle it has grown already
			}
		}
		full := func() []error {
			return []error{libtest.Hot(libtest.TableHot), libtest.Hot(libtest.TableHot)}
		}
		w := &libtest.Listener{Act: grow("C#a")}
		if err := counters.NewWriter(&libtest.Scripted{Updates: full()}, "t", shards, counters.Options{Observer: w}).Add(t.Context(), "a", 1, now); err != nil {
			t.Fatal(err)
		}
		limited := &libtest.Listener{Act: grow("R#k")}
		l := limits.New(&libtest.Scripted{Updates: full()}, "t", shards, limits.Options{Observer: limited})
		if _, err := l.Hit(t.Context(), limits.Limit{Key: "k", Max: 1000, Window: 720 * time.Hour}, now); err != nil {
			t.Fatal(err)
		}
		for _, w := range []*libtest.Listener{w, limited} {
			if first, last := w.Attempts[0], w.Attempts[len(w.Attempts)-1]; first.Version != 0 || last.Version != 1 || last.Shard == 0 && w.Attempts[1].Shard == 0 {
				t.Errorf("observed %+v, want version 0 first and 1 last, on another write shard", w.Attempts)
			}
		}
	})
}

// TestAttemptsOfEventsHaveActiveCount checks that an event's attempt has the active count while a decrease is pending, so
// that a growth need not wait for it. While a growth is pending, the attempt has the growth's count.
func TestAttemptsOfEventsHaveActiveCount(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	first, next := now.Add(-time.Hour), now.Add(time.Minute)
	for _, c := range []struct {
		kind        schema.Kind
		count, then int
		want        int
		since       time.Time
	}{
		{schema.Event, 24, 4, 24, first}, {schema.Event, 4, 24, 24, next}, {schema.Counter, 24, 4, 4, next},
	} {
		e := shardmap.Entry{History: shard.History{{At: first, Count: c.count}, {At: next, Count: c.then}}}
		if a := observe.NewAttempt(c.kind, "k", e, 0, now); a.Shards != c.want || !a.Effective.Equal(c.since) {
			t.Errorf("%+v: the attempt is %+v", c, a)
		}
	}
}
