package migrate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Comparison is the result of Verify.
type Comparison struct {
	Compared  int      // old and new items read
	Missing   int      // old items without a new one
	Extra     int      // new items without an old one; unknown with an old RandomSuffix
	Different int      // items whose old and new attributes differ
	Examples  []string // up to ten differences, with their places
}

// Equal reports whether there are no differences.
func (c Comparison) Equal() bool { return c.Missing+c.Extra+c.Different == 0 }

// maxExamples bounds Comparison.Examples.
const maxExamples = 10

// Verify compares the old and the new items of a name in a span, while programs write both. If
// two items differ, it reads them again in one transaction. It costs four read units for each 4
// KB of an item, like Copy. Phases WriteBoth and ReadNew.
//
// In phase WriteOld, before there are new items, Verify counts any item at a new place as
// Extra. There must be none.
func (m *Migration) Verify(ctx context.Context, name string, s table.Span, now time.Time) (Comparison, error) {
	c, err := m.beginIn("Verify", now, WriteOld, WriteBoth, ReadNew)
	if err != nil {
		return Comparison{}, err
	}
	v := verification{c: c}
	var old, new Progress
	if m.Phase != WriteOld {
		old, err = c.walkOld(name, s, nil, v.old).run(ctx)
	}
	if err == nil && (m.Phase == WriteOld || c.from.raw.Findable()) {
		new, err = c.walkNew(name, s, nil, v.new).run(ctx)
	}
	if err != nil {
		return Comparison{}, describe(m.From, "comparing items of", name, err)
	}
	v.found.Compared = old.Seen + new.Seen
	return v.found, nil
}

// verification collects differences.
type verification struct {
	c     *call
	mu    sync.Mutex
	found Comparison
}

// old compares an old item with its new one.
func (v *verification) old(ctx context.Context, f visit) (bool, error) {
	there, err := f.findCopy(ctx)
	if err != nil || equal(v.c.to, f.item, there) {
		return false, err
	}
	old, new, err := f.pair().readItems(ctx)
	switch {
	case err != nil, old == nil, equal(v.c.to, old, new), v.c.expired(old) && (new == nil || v.c.expired(new)):
	case new == nil:
		v.addExample("missing", &v.found.Missing, f)
	default:
		v.addExample("different", &v.found.Different, f)
	}
	return false, err
}

// new checks that a new item has an old one. Such pairs are compared by old.
func (v *verification) new(ctx context.Context, f visit) (is bool, err error) {
	if is = v.c.Phase == WriteOld && !v.c.expired(f.item); !is {
		is, err = f.extra(ctx)
	}
	if is {
		v.addExample("extra", &v.found.Extra, f)
	}
	return false, err
}

func (v *verification) addExample(kind string, count *int, f visit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	*count++
	if len(v.found.Examples) < maxExamples {
		v.found.Examples = append(v.found.Examples, fmt.Sprintf("%s: %q, old under %q, new under %q", kind, place.SortText(f.at.Sort), f.from.PK, f.to.PK))
	}
}

// Drop deletes the old items of a name in a span that have a new one. An old item without a new
// one was never copied, or its new one was deleted since. It is kept and counted as Kept,
// unless TTL is about to delete it. It reports like Copy. Phase WriteNew only.
func (m *Migration) Drop(ctx context.Context, name string, s table.Span, now time.Time, report func(Progress)) (Progress, error) {
	return m.deleteItems(ctx, name, s, now, report, false)
}

// DropAll is a Drop that also deletes old items without a new one. Call it after a Verify
// without differences.
func (m *Migration) DropAll(ctx context.Context, name string, s table.Span, now time.Time, report func(Progress)) (Progress, error) {
	return m.deleteItems(ctx, name, s, now, report, true)
}

func (m *Migration) deleteItems(ctx context.Context, name string, s table.Span, now time.Time, report func(Progress), orphans bool) (Progress, error) {
	c, err := m.beginIn("Drop", now, WriteNew)
	if err != nil {
		return Progress{}, err
	}
	var w *walk
	w = c.walkOld(name, s, report, func(ctx context.Context, f visit) (bool, error) {
		new, err := f.findCopy(ctx)
		if err != nil {
			return false, err
		}
		if new == nil && !orphans && !c.expired(f.item) {
			w.kept.Add(1)
			return false, nil
		}
		return true, c.from.raw.RemoveAt(ctx, f.from, f.id)
	})
	w.drops = true
	done, err := w.run(ctx)
	if err != nil {
		return done, describe(m.From, "dropping old items of", name, err)
	}
	return done, nil
}
