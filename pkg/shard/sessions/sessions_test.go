package sessions_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
)

// listPages lists the group g in pages, with a new call for each.
func listPages(t *testing.T, r *sessions.Reader, page int, now time.Time) (ids []string) {
	t.Helper()
	for after, more := "", true; more; {
		more = false
		for one, err := range r.List(libtest.Within(t), "g", after, now) {
			if err != nil {
				t.Fatal(err)
			}
			if ids, after = append(ids, one.ID), one.ID; len(ids)%page == 0 {
				more = true
				break
			}
		}
	}
	return ids
}

// TestListWhileIndexRowsMove lists a group in pages while N goes from 1 to 24 to 4, rows move to other write shards and
// every fourth session ends. Each other session must be listed once, and in order. At rest no other may be listed.
func TestListWhileIndexRowsMove(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	count, now, writer := require.Runs(60, 120), later, d.store()
	begin := func(ids []string) {
		for _, id := range ids {
			if _, err := writer.Put(t.Context(), sessions.Lease{Group: "g", ID: id, TTL: time.Hour}, now); err != nil {
				t.Error(err)
			}
		}
	}
	var stay, leave []string
	for i := range count {
		if id := fmt.Sprintf("%03d", i); i%4 == 0 {
			leave = append(leave, id)
		} else {
			stay = append(stay, id)
		}
	}
	begin(stay)
	reader, lists := d.reader(d.Client), 0
	check := func(atRest bool) {
		ids := listPages(t, reader, 7+lists%9, now)
		if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
			t.Fatalf("list %d is not in order, or an id is there twice: %v", lists, ids)
		}
		some := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(leave, id) })
		if !slices.Equal(some, stay) || atRest && len(ids) != len(stay) {
			t.Fatalf("list %d, at rest %t: %v, want %v", lists, atRest, ids, stay)
		}
		lists++
	}
	for _, n := range []int{24, 4} {
		begin(leave)
		d.pin(t, "g", n, now)
		now = now.Add(20 * time.Second)
		var moving sync.WaitGroup
		done := make(chan struct{})
		for some := range slices.Chunk(stay, 1+len(stay)/3) {
			moving.Go(func() { begin(some) })
		}
		moving.Go(func() {
			for _, id := range leave {
				if err := writer.End(t.Context(), "g", id, now); err != nil {
					t.Error(err)
				}
			}
		})
		go func() { moving.Wait(); close(done) }()
		for running := true; running; check(false) {
			select {
			case <-done:
				running = false
			default:
			}
		}
		check(true)
	}
	if lists < 6 {
		t.Errorf("only %d lists, want 6", lists)
	}
}
