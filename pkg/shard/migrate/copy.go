package migrate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// ErrExtra means that there are items where a name's new ones go that no old one
// accounts for. They are another name's, whose keys look like write shards of this one,
// or were deleted from the old table alone, or are left from a migration before.
var ErrExtra = errors.New("new items without an old one")

// Progress is how far a Copy, a Prune or a Drop has come.
type Progress struct {
	Seen    int    // items looked at; those with the last sort key twice where it was cut off
	Changed int    // items copied or deleted
	Kept    int    // old items that Drop left, for want of a new one
	After   string // Span.After to go on from here
}

// Copy makes the new items of a name equal to the old ones in a span, while programs write
// both. The zero span is all items, but where the old or the new are in time buckets,
// which need both ends: [table.During] from before the first item to behind the last. It reports, unless report is nil, after each
// hundred items, and goes on from Progress.After of a copy that failed. Done again it
// changes nothing. Phase WriteBoth only.
//
// It deletes nothing. First it looks at what lies where the new items go, and when it
// finds any that no old one accounts for, it copies nothing: that is ErrExtra. Verify
// tells which they are; Prune deletes them.
//
// Two old items that differ and would become one are an error of kind ErrMisused: with
// equal sort keys, which a RandomSuffix may have, or whose new place another item has.
// From.Delete takes them away, and the right one is put again. Equal ones are one.
//
// For each 4 KB an item costs four read units, or three if it is missing, and then
// four write units for each KB. Within one table and format the ranges that are read
// hold both the old and the new.
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

// copy walks through the new items, to see that there are no extra ones, and then
// through the old.
func (w *walk) copy(ctx context.Context) error {
	after, among := strings.CutPrefix(w.span.After, onlyNew)
	if w.span.After = after; (among || after == "") && w.c.from.raw.Finds() {
		if err := w.refuseExtras(ctx); err != nil {
			return err
		}
		w.span.After = ""
	}
	return w.run(ctx)
}

// refuseExtras walks through the new items up to the chunk that has extra ones.
func (w *walk) refuseExtras(ctx context.Context) error {
	look := w.c.walk(w.name, w.span, w.report, nil)
	look.new = true
	look.each = func(ctx context.Context, f met) (bool, error) {
		is, err := f.extra(ctx)
		if is {
			look.extra.Add(1)
		}
		return false, err
	}
	err := look.run(ctx)
	w.done = look.done
	return err
}

// copyOne makes one new item equal to the old one that was read. If it is so already,
// at whatever instant, nothing is to be done.
func copyOne(ctx context.Context, f met) (bool, error) {
	c := f.c
	if c.expired(f.item) {
		return false, nil
	}
	there, err := f.findCopy(ctx)
	if err != nil || equal(c.to, f.item, there) {
		return false, err
	}
	p := f.pair()
	if err = p.bring(ctx, f.item); errors.Is(err, dynamo.ErrOutrun) {
		err = p.sync(ctx)
	}
	if err == nil && c.from.raw.Finds() && !f.from.Equal(f.olds[0]) {
		err = p.overtaken(ctx, f.olds)
	}
	return true, err
}

// overtaken looks again after a copy of an old item that was not on the first of its
// places: a put that came meanwhile has gone to that, and counts.
func (p pair) overtaken(ctx context.Context, olds []place.Place) (err error) {
	p.at, err = p.c.from.raw.Target(ctx, olds, p.id)
	if err != nil || p.c.same(p.at, p.otherAt) {
		return err
	}
	return p.sync(ctx)
}

// findCopy reads an old item's new one, nil for none, on all places where it may be, and
// takes its place for the item's.
func (f *met) findCopy(ctx context.Context) (table.Item, error) {
	at, it, err := f.c.to.raw.Look(ctx, f.news, f.id)
	if it != nil {
		f.to = at
	}
	return it, err
}

// pair is the item's, old and new.
func (f met) pair() pair { return pair{f.c, f.c.from, f.c.to, f.from, f.to, f.id} }

// extra tells whether no old item accounts for a new one.
func (f met) extra(ctx context.Context) (bool, error) {
	if expired := f.c.expired(f.item); expired || f.stray {
		return !expired, nil
	}
	_, there, err := f.c.from.raw.Look(ctx, f.olds, f.id)
	if err != nil || there != nil {
		return false, err
	}
	old, new, err := f.pair().read(ctx) // both may have come or gone since
	return old == nil && new != nil, err
}

// Prune deletes the new items of a name in a span that no old one accounts for. Look
// first at what Verify counts as Extra: what belongs to another name would be lost. It
// reports and goes on as Copy does. Phase WriteBoth only, once all programs are there.
func (m *Migration) Prune(ctx context.Context, name string, s table.Span, now time.Time, report func(Progress)) (Progress, error) {
	c, err := m.beginIn("Prune", now, WriteBoth)
	if err != nil {
		return Progress{}, err
	}
	if !c.from.raw.Finds() {
		return Progress{}, fmt.Errorf("%w: Prune can't find the old items of %s singly", shard.ErrMisused, m.From.Name)
	}
	s.After = strings.TrimPrefix(s.After, onlyNew)
	w := c.walk(name, s, report, pruneOne)
	w.new = true
	if err := w.run(ctx); err != nil {
		return w.done, describe(m.To, "pruning new items of", name, err)
	}
	return w.done, nil
}

// pruneOne deletes a new item that no old one accounts for.
func pruneOne(ctx context.Context, f met) (bool, error) {
	is, err := f.extra(ctx)
	switch {
	case err != nil || !is:
		return false, err
	case f.stray:
		return true, f.c.to.raw.RemoveAt(ctx, f.to, f.id)
	}
	return true, f.pair().sync(ctx)
}

// ttlKeeps is the age at which DynamoDB's TTL takes a time for a mistake, and no longer
// deletes by it: five years, by its documentation.
const ttlKeeps = 5 * 365 * 24 * time.Hour

// expired tells whether TTL has deleted an item, or is about to. It deletes by numbers
// alone: a text of the same digits is no time to it.
func (c *call) expired(it table.Item) bool {
	if _, number := it[c.TTL].(*types.AttributeValueMemberN); !number {
		return false
	}
	text, _ := dynamo.Attribute(it, c.TTL)
	seconds, err := strconv.ParseInt(text, 10, 64)
	age := c.from.raw.Now().Sub(time.Unix(seconds, 0))
	return err == nil && age >= 0 && age < ttlKeeps
}
