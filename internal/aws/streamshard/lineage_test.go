package streamshard

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

// tree is a stream's shards, and what a lineage did with them.
type tree struct {
	mu     sync.Mutex
	shards []Shard
	ends   map[string]chan time.Time // by stream shard: its reading ends
	events []string
	splits map[string]bool
	fails  error // of listings
	asks   int
}

func newTree(shards ...Shard) *tree {
	tr := &tree{ends: make(map[string]chan time.Time), splits: make(map[string]bool)}
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

// happened returns the events since the last call, once all goroutines wait.
func (tr *tree) happened() string {
	synctest.Wait()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	slices.Sort(tr.events) // those of one moment have no order
	text := strings.Join(tr.events, " ")
	tr.events = nil
	return text
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
		Split: func(s Split) {
			if text := fmt.Sprintf("split %s into %d", s.Parent, s.Children); !tr.splits[text] { // it may be called again
				tr.splits[text] = true
				tr.note("%s", text)
			}
		},
	}
}

// following runs a lineage of a tree. wait ends it, and returns its error.
func following(t *testing.T, tr *tree, l *Lineage, read ...string) (wait func(stop bool) error) {
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

func (tr *tree) expect(t *testing.T, when, want string) {
	t.Helper()
	if got := tr.happened(); got != want {
		t.Errorf("%s: %q, want %q", when, got, want)
	}
}

// TestParentsBeforeChildren: what has no parent, or whose parent is gone or was read before, is
// read at once; a child when its parent has ended, and the parent is given up after that.
func TestParentsBeforeChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(Shard{ID: "a"}, Shard{ID: "b", Parent: "a"}, Shard{ID: "c", Parent: "gone"}, Shard{ID: "d"}, Shard{ID: "e", Parent: "d"})
		wait := following(t, tr, tr.lineage(), "d")
		tr.expect(t, "at first", "+a +c +e")
		tr.ends["a"] <- epoch
		tr.expect(t, "a ended", "+b -a")
		if err := wait(true); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestSplitWhileRead: the children of a stream shard that ends are found soon, also those that the
// listing has late, and the parent is not done before the first answer.
func TestSplitWhileRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(Shard{ID: "a"})
		wait := following(t, tr, tr.lineage())
		tr.expect(t, "at first", "+a")
		time.Sleep(5 * time.Second)
		tr.add(Shard{ID: "b", Parent: "a"})
		tr.ends["a"] <- epoch
		tr.expect(t, "a ended", "+b -a")
		tr.add(Shard{ID: "c", Parent: "a"})
		time.Sleep(31 * time.Second)
		tr.expect(t, "c is listed", "+c split a into 2")
		tr.ends["b"] <- epoch // without children for now
		tr.ends["c"] <- epoch
		time.Sleep(5 * time.Second)
		tr.expect(t, "both ended", "-b -c")
		tr.add(Shard{ID: "d", Parent: "c"})
		time.Sleep(time.Second)
		tr.expect(t, "d is listed", "+d")
		_ = wait(true)
	})
}

// TestListingFails ends the lineage with its error.
func TestListingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(Shard{ID: "a"})
		wait := following(t, tr, tr.lineage())
		tr.expect(t, "at first", "+a")
		tr.fails = errGarbage
		tr.ends["a"] <- epoch
		if err := wait(false); !errors.Is(err, errGarbage) {
			t.Error(err)
		}
	})
}

// TestNothingFollows: a lineage ends when the children of all that ended were requested as often
// as may be. An endless one goes on.
func TestNothingFollows(t *testing.T) {
	for _, endless := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			tr := newTree(Shard{ID: "a"})
			l := tr.lineage()
			l.Endless = endless
			wait := following(t, tr, l)
			began := time.Now()
			tr.ends["a"] <- epoch
			if endless {
				time.Sleep(time.Hour)
				tr.add(Shard{ID: "b", Parent: "a"})
				time.Sleep(time.Minute)
				tr.expect(t, "b is listed", "+a +b -a")
				if tr.asks > 1+30+121 {
					t.Errorf("listed %d times in an hour", tr.asks)
				}
				_ = wait(true)
				return
			}
			if err := wait(false); err != nil || time.Since(began) < 29*time.Second || time.Since(began) > 35*time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	}
}

// TestLeftBeforeTheEnd: the children of a stream shard that was left are not read.
func TestLeftBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(Shard{ID: "a"}, Shard{ID: "b", Parent: "a"})
		wait := following(t, tr, tr.lineage())
		tr.ends["a"] <- time.Time{}
		if err := wait(false); err != nil {
			t.Error(err)
		}
		tr.expect(t, "left", "+a -a")
	})
}

// TestParentThatIsNoLongerListed: its children don't wait for it, even if it is still read.
func TestParentThatIsNoLongerListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(Shard{ID: "a"}, Shard{ID: "b", Parent: "a"})
		wait := following(t, tr, tr.lineage())
		tr.remove("a")
		time.Sleep(31 * time.Second)
		tr.expect(t, "relisted", "+a +b")
		tr.ends["a"] <- epoch
		tr.expect(t, "a ended", "-a")
		_ = wait(true)
	})
}

// TestReadingFails ends the lineage with its error.
func TestReadingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(Shard{ID: "a"}, Shard{ID: "b"})
		wait := following(t, tr, tr.lineage())
		close(tr.ends["b"])
		if err := wait(false); err == nil || err.Error() != "reading b failed" {
			t.Error(err)
		}
	})
}
