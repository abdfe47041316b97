package sessions_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestEveryWriteOfSessionIsObserved checks that a call's accepted attempts and throttles of the index's partition are
// observed with one call number.
func TestEveryWriteOfSessionIsObserved(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.pin(t, "g", 5, later.Add(-time.Hour))
	lease := sessions.Lease{Group: "g", ID: "z", TTL: time.Hour}
	view := d.view() // loaded, since a write waits at most a quarter of a second
	if err := view.Load(libtest.Within(t), later); err != nil {
		t.Fatal(err)
	}
	process := func(client libtest.Faulty, w *libtest.Observed) *sessions.Store {
		return sessions.New(client, d.Names.Items, view, sessions.Options{Observer: w})
	}
	const accepted, throttled = "S#g 4 accepted by 1", "S#g 4 throttled by 1"
	for name, c := range map[string]struct {
		reason string
		want   []string
	}{
		"accepted":          {"", []string{accepted}},
		"a full partition":  {libtest.IndexHot, []string{accepted, throttled}},
		"the session's own": {libtest.TableHot, []string{accepted}}, // more write shards don't help
		"a full index":      {"IndexWriteMaxOnDemandThroughputExceeded", []string{accepted}},
	} {
		for what, do := range map[string]func(libtest.Faulty, *libtest.Observed) error{
			"put": func(client libtest.Faulty, w *libtest.Observed) error {
				_, err := process(client, w).Put(libtest.Within(t), lease, later)
				return err
			},
			"end": func(client libtest.Faulty, w *libtest.Observed) error {
				return process(client, w).End(libtest.Within(t), "g", "z", later)
			},
		} {
			w, left := libtest.NewObserved(), 3
			client := d.faulty(func() error {
				if left--; c.reason != "" && left > 0 {
					return libtest.Hot(c.reason)
				}
				return nil
			}, nil)
			if err := do(client, w); err != nil || w.ByKey["S#g"] != 1 || !slices.Equal(w.Shown(), c.want) {
				t.Errorf("%s, %s: %v, %d calls, observed %v; want %v", what, name, err, w.ByKey["S#g"], w.Shown(), c.want)
			}
		}
	}
	for what, action := range map[string]func(context.Context) (shardmap.Write, error){
		"a keyed put": func(ctx context.Context) (shardmap.Write, error) {
			action, _, err := d.store().PutTransact(ctx, lease, later)
			return action, err
		},
		"a keyed end": func(ctx context.Context) (shardmap.Write, error) {
			return d.store().EndTransact(ctx, "g", "z", later.Add(time.Second)), nil
		},
	} {
		w := libtest.NewObserved()
		if err := d.once(libtest.Within(t), d.Client, w, what, later, action); err != nil || w.ByKey["S#g"] != 1 || !slices.Equal(w.Shown(), []string{accepted}) {
			t.Errorf("%s: %v, %d calls, observed %v; want one call with %q", what, err, w.ByKey["S#g"], w.Shown(), accepted)
		}
	}
}
