package migrate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// ErrExtra means that a name has new items without an old one. They may belong to another name whose
// keys look like this one's write shards. Or only the old ones were deleted, or they are left from an
// earlier migration.
var ErrExtra = errors.New("new items without an old one")

// Progress is the progress of a Copy, a Prune or a Drop.
type Progress struct {
	Seen    int    // items read; a resumed call reads the items with the last sort key again
	Changed int    // items copied or deleted
	Kept    int    // old items that Drop kept, because they have no new one
	After   string // Span.After of a call that resumes
}

// Copy makes the new items of a name in a span equal to the old ones, while programs write
// both. The zero span means all items. If the old or the new are in time buckets, the span needs
// both ends: [table.During] from before the first item to after the last. Copy calls report,
// which may be nil, after each hundred items. To resume a failed copy, set the span's After to
// Progress.After. Repeating a copy is harmless. It is for phase WriteBoth.
//
// Copy deletes nothing. It first reads the new items, and returns ErrExtra without copying if any has
// no old item. Verify lists such items; Prune deletes them.
//
// If two different old items would become one new item, Copy returns ErrMisused. They have equal sort
// keys, as a RandomSuffix allows, or another item is at the new place. Delete them with From.Delete,
// and put the right one again. Equal old items become one.
//
// An item costs 4 RCU for each 4 KB. If the new one is missing, it costs 3 RCU for each 4 KB and 4 WCU
// for each KB. Within one table and format, a read of the
// old or the new items also reads the others.
func (m *Migration) Copy(ctx context.Context, name string, s table.Span, now time.Time, report func(Progress)) (Progress, error) {
	c, err := m.beginIn("Copy", now, WriteBoth)
	if err != nil {
		return Progress{}, err
	}
	w := c.walk(name, s, report, copyOne)
	if err := w.copy(ctx); err != nil {
		return w.done, describe(m.From, "copying items of", name, err)
	}
	return w.done, nil
}

// copy checks that there are no extra new items, and then copies the old ones. A resumed copy continues
// with either.
func (w *walk) copy(ctx context.Context) error {
	after, inNew := strings.CutPrefix(w.span.After, onlyNew)
	w.span.After = after
	checkNew := inNew || after == ""
	if checkNew && w.c.from.raw.Finds() {
		if err := w.rejectExtras(ctx); err != nil {
			return err
		}
		w.span.After = ""
	}
	return w.run(ctx)
}

// rejectExtras walks the new items, and returns ErrExtra after the first chunk with extra ones.
func (w *walk) rejectExtras(ctx context.Context) error {
	check := w.c.walk(w.name, w.span, w.report, nil)
	check.new = true
	check.each = func(ctx context.Context, f visit) (bool, error) {
		isExtra, err := f.isExtra(ctx)
		if isExtra {
			check.extra.Add(1)
		}
		return false, err
	}
	err := check.run(ctx)
	w.done = check.done
	return err
}

// copyOne makes one new item equal to the old one that was read, unless it already is.
func copyOne(ctx context.Context, f visit) (bool, error) {
	c := f.c
	if c.expired(f.item) {
		return false, nil
	}
	there, err := f.findCopy(ctx)
	if err != nil || equal(c.to, f.item, there) {
		return false, err
	}
	p := f.pair()
	if err = p.copyTruth(ctx, f.item); errors.Is(err, dynamo.ErrOutrun) {
		err = p.sync(ctx)
	}
	if err == nil && c.from.raw.Finds() && !f.from.Equal(f.olds[0]) {
		err = p.recheck(ctx, f.olds)
	}
	return true, err
}

// recheck copies again if an old item that was not at its first place is there now. A concurrent put
// writes the first place, which takes precedence.
func (p pair) recheck(ctx context.Context, olds []place.Place) (err error) {
	p.at, err = p.c.from.raw.Target(ctx, olds, p.id)
	if err != nil || p.c.same(p.at, p.otherAt) {
		return err
	}
	return p.sync(ctx)
}

// findCopy returns the new item of an old one, nil if there is none, and sets its place. It reads all
// places where it may be.
func (f *visit) findCopy(ctx context.Context) (table.Item, error) {
	at, it, err := f.c.to.raw.Locate(ctx, f.news, f.id)
	if it != nil {
		f.to = at
	}
	return it, err
}

// pair returns the item's old and new place.
func (f visit) pair() pair { return pair{f.c, f.c.from, f.c.to, f.from, f.to, f.id} }

// isExtra reports whether a new item has no old one. Expired items are never extra.
func (f visit) isExtra(ctx context.Context) (bool, error) {
	if f.c.expired(f.item) {
		return false, nil
	}
	if f.stray {
		return true, nil
	}
	_, there, err := f.c.from.raw.Locate(ctx, f.olds, f.id)
	if err != nil || there != nil {
		return false, err
	}
	old, new, err := f.pair().read(ctx) // either may have been written since
	return old == nil && new != nil, err
}

// Prune deletes the new items of a name in a span that have no old one. First check what Verify
// counts as Extra, since items of another name would be lost. It reports and resumes as Copy does. It
// is for phase WriteBoth, once all programs are in it.
func (m *Migration) Prune(ctx context.Context, name string, s table.Span, now time.Time, report func(Progress)) (Progress, error) {
	c, err := m.beginIn("Prune", now, WriteBoth)
	if err != nil {
		return Progress{}, err
	}
	if !c.from.raw.Finds() {
		return Progress{}, fmt.Errorf("%w: Prune can't look up the old items of %s one by one", shard.ErrMisused, m.From.Name)
	}
	s.After = strings.TrimPrefix(s.After, onlyNew)
	w := c.walk(name, s, report, pruneOne)
	w.new = true
	if err := w.run(ctx); err != nil {
		return w.done, describe(m.To, "pruning new items of", name, err)
	}
	return w.done, nil
}

// pruneOne deletes a new item that has no old one.
func pruneOne(ctx context.Context, f visit) (bool, error) {
	isExtra, err := f.isExtra(ctx)
	switch {
	case err != nil || !isExtra:
		return false, err
	case f.stray:
		return true, f.c.to.raw.RemoveAt(ctx, f.to, f.id)
	}
	return true, f.pair().sync(ctx)
}

// ttlMaxAge is how far in the past a time may be for DynamoDB's TTL: it ignores times of more than five
// years ago, by its documentation.
const ttlMaxAge = 5 * 365 * 24 * time.Hour

// expired reports whether TTL has deleted an item or will soon. TTL ignores text, even if it consists
// of digits.
func (c *call) expired(it table.Item) bool {
	if _, number := it[c.TTL].(*types.AttributeValueMemberN); !number {
		return false
	}
	text, _ := dynamo.Attribute(it, c.TTL)
	seconds, err := strconv.ParseInt(text, 10, 64)
	age := c.from.raw.Now().Sub(time.Unix(seconds, 0))
	return err == nil && age >= 0 && age < ttlMaxAge
}
