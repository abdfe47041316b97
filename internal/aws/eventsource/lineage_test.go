package eventsource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var epoch = time.Date(2026, 1, 5, 13, 0, 0, 0, time.UTC)

// tree has a stream's shards, and records what a lineage does with them.
type tree struct {
	mu     sync.Mutex
	shards []Shard
	ends   map[string]chan time.Time // by stream shard; ends its reading
	events []string
	fails  error // of listings
	asks   int   // listings
}

func newTree(shards ...Shard) *tree {
	tr := &tree{ends: make(map[string]chan time.Time)}
	for _, s := range shards {
		tr.add(s)
	}
	return tr
}

func (tr *tree) add(s Shard) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.shards = append(tr.shards, s)
	tr.ends[s.ID] = make(chan time.Time)
}

func (tr *tree) remove(id string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.shards = slices.DeleteFunc(tr.shards, func(s Shard) bool { return s.ID == id })
}

func (tr *tree) note(format string, values ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.events = append(tr.events, fmt.Sprintf(format, values...))
}

// expect waits until all goroutines are blocked, and checks the events since the last call: + for a start, - for an end.
func (tr *tree) expect(t *testing.T, when, want string) {
	t.Helper()
	synctest.Wait()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	slices.Sort(tr.events) // simultaneous events have no order
	if got := strings.Join(tr.events, " "); got != want {
		t.Errorf("%s: events %q, want %q", when, got, want)
	}
	tr.events = nil
}

func (tr *tree) list(context.Context) ([]Shard, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.asks++
	return slices.Clone(tr.shards), tr.fails
}

func (tr *tree) lineage() *Lineage {
	return &Lineage{
		List: tr.list, Relist: 30 * time.Second, AskAgain: time.Second, MaxAsks: 30,
		Start: func(id string) func(context.Context) (time.Time, error) {
			tr.note("+%s", id)
			end := tr.ends[id]
			return func(ctx context.Context) (time.Time, error) {
				select {
				case at, ok := <-end:
					if !ok {
						return at, fmt.Errorf("reading %s failed", id)
					}
					return at, nil
				case <-ctx.Done():
					return time.Time{}, ctx.Err()
				}
			}
		},
		Done: func(id string) { tr.note("-%s", id) },
	}
}

// follow runs a lineage of a tree in which some stream shards were read before. The function wait returns the lineage's
// error, after ending it if stop is true.
func follow(t *testing.T, tr *tree, l *Lineage, read ...string) (wait func(stop bool) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	list, _ := tr.list(ctx)
	l.Reset(list, func(s Shard) bool { return slices.Contains(read, s.ID) })
	result := make(chan error, 1)
	go func() { result <- l.Run(ctx) }()
	return func(stop bool) error {
		if stop {
			cancel()
		}
		defer cancel()
		return <-result
	}
}

// TestParentsBeforeChildren checks which stream shards are read at once: those without a parent, or whose parent is not
// listed or was read. A child is read after its parent's end, and only then is the parent done.
func TestParentsBeforeChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(Shard{ID: "a"}, Shard{ID: "b", Parent: "a"}, Shard{ID: "c", Parent: "gone"}, Shard{ID: "d"}, Shard{ID: "e", Parent: "d"})
		wait := follow(t, tr, tr.lineage(), "d")
		tr.expect(t, "at first", "+a +c +e")
		tr.ends["a"] <- epoch
		tr.expect(t, "a ended", "+b -a")
		if err := wait(true); !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v, want context.Canceled", err)
		}
	})
}

// TestSplitWhileRead checks that the children of an ended stream shard are found soon, even if they are listed late.
// The parent is done only after a listing.
func TestSplitWhileRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(Shard{ID: "a"})
		wait := follow(t, tr, tr.lineage())
		tr.expect(t, "at first", "+a")
		time.Sleep(5 * time.Second)
		tr.add(Shard{ID: "b", Parent: "a"})
		tr.ends["a"] <- epoch
		tr.expect(t, "a ended", "+b -a")
		tr.add(Shard{ID: "c", Parent: "a"})
		time.Sleep(31 * time.Second)
		tr.expect(t, "c is listed", "+c")
		tr.ends["b"] <- epoch // without listed children
		tr.ends["c"] <- epoch
		time.Sleep(5 * time.Second)
		tr.expect(t, "both ended", "-b -c")
		tr.add(Shard{ID: "d", Parent: "c"})
		time.Sleep(time.Second)
		tr.expect(t, "d is listed", "+d")
		_ = wait(true)
	})
}

// TestListingFails checks that a failed listing ends the lineage with its error.
func TestListingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(Shard{ID: "a"})
		wait := follow(t, tr, tr.lineage())
		tr.expect(t, "at first", "+a")
		tr.fails = errNotDynamoDB
		tr.ends["a"] <- epoch
		if err := wait(false); !errors.Is(err, errNotDynamoDB) {
			t.Errorf("Run returned %v, want %v", err, errNotDynamoDB)
		}
	})
}

// TestNoChildren checks that a lineage ends after it has searched MaxAsks times for children. An endless one continues
// with fewer listings.
func TestNoChildren(t *testing.T) {
	for _, endless := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			tr := newTree(Shard{ID: "a"})
			l := tr.lineage()
			l.Endless = endless
			wait := follow(t, tr, l)
			began := time.Now()
			tr.ends["a"] <- epoch
			if endless {
				time.Sleep(time.Hour)
				tr.add(Shard{ID: "b", Parent: "a"})
				time.Sleep(time.Minute)
				tr.expect(t, "b is listed", "+a +b -a")
				if tr.asks > 1+30+121 {
					t.Errorf("%d listings in an hour, want at most %d", tr.asks, 1+30+121)
				}
				_ = wait(true)
				return
			}
			if err := wait(false); err != nil || time.Since(began) < 29*time.Second || time.Since(began) > 35*time.Second {
				t.Errorf("Run returned %v after %v, want nil after 29 to 35 s", err, time.Since(began))
			}
		})
	}
}

// TestAbandonedParent checks that the children of a stream shard are not read if its reading stopped before its end.
func TestAbandonedParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(Shard{ID: "a"}, Shard{ID: "b", Parent: "a"})
		wait := follow(t, tr, tr.lineage())
		tr.ends["a"] <- time.Time{}
		if err := wait(false); err != nil {
			t.Errorf("Run returned %v", err)
		}
		tr.expect(t, "abandoned", "+a -a")
	})
}

// TestUnlistedParent checks that children don't wait for a parent which is no longer listed, even while it is read.
func TestUnlistedParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(Shard{ID: "a"}, Shard{ID: "b", Parent: "a"})
		wait := follow(t, tr, tr.lineage())
		tr.remove("a")
		time.Sleep(31 * time.Second)
		tr.expect(t, "relisted", "+a +b")
		tr.ends["a"] <- epoch
		tr.expect(t, "a ended", "-a")
		_ = wait(true)
	})
}

// TestReadingFails checks that a failed reading ends the lineage with its error.
func TestReadingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(Shard{ID: "a"}, Shard{ID: "b"})
		wait := follow(t, tr, tr.lineage())
		close(tr.ends["b"])
		if err := wait(false); err == nil || err.Error() != "reading b failed" {
			t.Errorf("Run returned %v, want the error of b", err)
		}
	})
}
