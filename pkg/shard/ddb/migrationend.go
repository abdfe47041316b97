package ddb

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Comparison is what a Verify found.
type Comparison struct {
	Compared  int      // items looked at, the old and the new
	Missing   int      // old items without a new one
	Extra     int      // new items without an old one; unknown with an old RandomSuffix
	Different int      // items whose old and new attributes differ
	Examples  []string // up to ten: where they are
}

// Equal tells whether nothing differs.
func (c Comparison) Equal() bool { return c.Missing+c.Extra+c.Different == 0 }

// maxExamples bounds Comparison.Examples.
const maxExamples = 10

// Verify compares the old and the new items of a name in a span, each at one instant,
// while programs write both: none may differ. It costs four read units for each 4 KB
// of an item. Phases WriteBoth and ReadNew.
func (m *Migration) Verify(ctx context.Context, name string, s Span) (Comparison, error) {
	if err := m.need("Verify", WriteBoth, ReadNew); err != nil {
		return Comparison{}, err
	}
	var c Comparison
	var mu sync.Mutex
	each := func(ctx context.Context, p pair) (bool, error) {
		truth, other, err := m.read(ctx, p)
		if err != nil || p.equal(truth, other) {
			return false, err
		}
		if m.Phase >= ReadNew {
			truth, other = other, truth
		}
		mu.Lock()
		defer mu.Unlock()
		c.add(truth, other, p)
		return false, nil
	}
	w := m.walk(name, s, nil, each)
	if err := w.both(ctx); err != nil {
		return Comparison{}, m.From.describe("comparing items of", name, err)
	}
	c.Compared = w.done.Seen
	return c, nil
}

func (c *Comparison) add(old, new Item, p pair) {
	kind := "different"
	switch {
	case new == nil:
		c.Missing++
		kind = "missing"
	case old == nil:
		c.Extra++
		kind = "extra"
	default:
		c.Different++
	}
	if len(c.Examples) < maxExamples {
		c.Examples = append(c.Examples, fmt.Sprintf("%s: %q and %q", kind, p.at.pk, p.otherAt.pk))
	}
}

// Drop deletes the old items of a name in a span that have a new one. One without may
// have been deleted since the phase began, or have never been copied: it is kept and
// counted, unless orphans says to delete those, too, which is right after a Verify
// without differences. It reports and goes on as Copy does. Phase WriteNew only.
func (m *Migration) Drop(ctx context.Context, name string, s Span, orphans bool, report func(Progress)) (Progress, error) {
	if err := m.need("Drop", WriteNew); err != nil {
		return Progress{}, err
	}
	var kept atomic.Int64
	w := m.walk(name, s, report, func(ctx context.Context, p pair) (bool, error) {
		it, err := p.truth.read(ctx, p.at)
		if err != nil {
			return false, err
		}
		if it == nil && !orphans {
			kept.Add(1)
			return false, nil
		}
		return true, p.other.remove(ctx, p.otherAt)
	})
	err := w.through(ctx, m.From, "")
	w.done.Kept = int(kept.Load())
	if err != nil {
		return w.done, m.From.describe("dropping old items of", name, err)
	}
	return w.done, nil
}
