package ddb

import (
	"context"
	"fmt"
	"sync"
)

// Comparison is what a Verify found.
type Comparison struct {
	Compared  int // items looked at, the old and the new
	Missing   int // old items without a new one
	Extra     int // new items without an old one; unknown with an old RandomSuffix
	Different int // items whose old and new attributes differ
	Examples  []string
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
	each := func(ctx context.Context, p pair, s sighting) (bool, error) {
		truth, other, err := m.read(ctx, p)
		if err != nil || p.equal(truth, other) {
			return false, err
		}
		if m.Phase >= ReadNew {
			truth, other = other, truth
		}
		mu.Lock()
		defer mu.Unlock()
		c.add(truth, other, s)
		return false, nil
	}
	var done Progress
	if err := m.walk(ctx, name, s, &done, func(Progress) {}, each); err != nil {
		return Comparison{}, m.From.describe("comparing items of", name, err)
	}
	c.Compared = done.Seen
	return c, nil
}

func (c *Comparison) add(old, new Item, s sighting) {
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
		c.Examples = append(c.Examples, fmt.Sprintf("%s: %s", kind, position{s.at.sort, s.at.shard}))
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
	var done Progress
	var kept int
	var mu sync.Mutex
	each := func(ctx context.Context, p pair, _ sighting) (bool, error) {
		it, err := p.truth.read(ctx, p.at)
		if err != nil {
			return false, err
		}
		if it == nil && !orphans {
			mu.Lock()
			defer mu.Unlock()
			kept++
			return false, nil
		}
		return true, p.other.remove(ctx, p.otherAt)
	}
	s.Consistent, s.Desc, s.Limit = true, false, 0
	err := m.half(ctx, m.From, "", name, s, &done, report, each)
	done.Kept = kept
	if err != nil {
		return done, m.From.describe("dropping old items of", name, err)
	}
	return done, nil
}
