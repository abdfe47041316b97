package migrate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// ErrExtra means that there are items at the new places of a name without an old item. They may
// belong to another name whose keys look like this one's write shards. Or they were deleted
// from the old table only, or are left from an earlier migration.
var ErrExtra = errors.New("new items without an old one")

// Progress is the progress of a Copy, a Prune or a Drop.
type Progress struct {
	Seen    int // items read
	Changed int // items copied or deleted
	Kept    int // old items that Drop kept, because they have no new one
}

// Copy makes the new items of a name in a span equal to the old ones, while programs write
// both. The zero span is all items. If the old or the new are in time buckets, the span needs
// both ends: [table.During] from before the first item to after the last. Copy calls report,
// which may be nil, after each hundred items. A failed copy is repeated; spans of a large name's items
// bound what it reads again. A repeated copy changes nothing. Phase WriteBoth only.
//
// Copy deletes nothing. It first reads the items at the new places, and returns ErrExtra
// without copying if any has no old item. Verify lists them; Prune deletes them.
//
// Two different old items that would become one are an error that wraps ErrMisused. They have
// equal sort keys, as a RandomSuffix allows, or another item is at the new place. Delete them
// with From.Delete and put the right one again. Equal old items become one.
//
// For each 4 KB an item costs four read units, or three if the new one is missing, and then
// four write units for each KB.
func (m *Migration) Copy(ctx context.Context, name string, s table.Span, now time.Time, report func(Progress)) (Progress, error) {
	c, err := m.beginIn("Copy", now, WriteBoth)
	if err != nil {
		return Progress{}, err
	}
	var done Progress
	if c.from.raw.Findable() {
		done, err = c.walkNew(name, s, report, rejectExtra).run(ctx)
	}
	if err == nil {
		done, err = c.walkOld(name, s, report, copyOne).run(ctx)
	}
	if err != nil {
		return done, describe(m.From, "copying items of", name, err)
	}
	return done, nil
}

// rejectExtra returns ErrExtra if a new item has no old one. It changes nothing.
func rejectExtra(ctx context.Context, f visit) (bool, error) {
	is, err := f.extra(ctx)
	if is {
		err = fmt.Errorf("%w: %s under %q, for one: list them with Verify, then delete them with Prune", ErrExtra, place.SortText(f.at.Sort), f.to.PK)
	}
	return false, err
}

// copyOne makes one new item equal to the old one that was read. It does nothing if they are
// equal, even if they were read at different times.
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
	if err == nil && c.from.raw.Findable() && !f.from.Equal(f.olds[0]) {
		err = p.recheck(ctx, f.olds)
	}
	return true, err
}

// recheck is called after the copy of an old item that is not at its first place. A concurrent
// put writes the first place, which takes precedence.
func (p pair) recheck(ctx context.Context, olds []place.Place) (err error) {
	p.at, err = p.c.from.raw.Target(ctx, olds, p.id)
	if err != nil {
		return err
	}
	return p.sync(ctx)
}

// findCopy reads an old item's new one, nil for none, on all places where it may be, and
// takes its place for the item's.
func (f *visit) findCopy(ctx context.Context) (table.Item, error) {
	at, it, err := f.c.to.raw.Locate(ctx, f.news, f.id)
	if it != nil {
		f.to = at
	}
	return it, err
}

// pair returns the item's old and new place.
func (f visit) pair() pair { return pair{f.c, f.c.from, f.c.to, f.from, f.to, f.id} }

// extra reports whether a new item has no old one.
func (f visit) extra(ctx context.Context) (bool, error) {
	if expired := f.c.expired(f.item); expired || f.stray {
		return !expired, nil
	}
	_, there, err := f.c.from.raw.Locate(ctx, f.olds, f.id)
	if err != nil || there != nil {
		return false, err
	}
	old, new, err := f.pair().readItems(ctx) // either may have been written since
	return old == nil && new != nil, err
}

// Prune deletes the new items of a name in a span that have no old one. Check first what Verify
// counts as Extra: items of another name would be lost. It reports like Copy. Phase WriteBoth only,
// once all programs are in it.
func (m *Migration) Prune(ctx context.Context, name string, s table.Span, now time.Time, report func(Progress)) (Progress, error) {
	c, err := m.beginIn("Prune", now, WriteBoth)
	if err != nil {
		return Progress{}, err
	}
	if !c.from.raw.Findable() {
		return Progress{}, fmt.Errorf("%w: Prune can't look up the old items of %s one by one", shard.ErrMisused, m.From.Name)
	}
	done, err := c.walkNew(name, s, report, pruneOne).run(ctx)
	if err != nil {
		return done, describe(m.To, "pruning new items of", name, err)
	}
	return done, nil
}

// pruneOne deletes a new item that has no old one.
func pruneOne(ctx context.Context, f visit) (bool, error) {
	is, err := f.extra(ctx)
	switch {
	case err != nil || !is:
		return false, err
	case f.stray:
		return true, f.c.to.raw.RemoveAt(ctx, f.to, f.id)
	}
	return true, f.pair().sync(ctx)
}

// ttlKeeps is the age from which DynamoDB's TTL ignores a time as a mistake: five years, by its
// documentation.
const ttlKeeps = 5 * 365 * 24 * time.Hour

// expired reports whether TTL has deleted an item or is about to. TTL ignores text, even if it
// has digits only.
func (c *call) expired(it table.Item) bool {
	if _, number := it[c.TTL].(*types.AttributeValueMemberN); !number {
		return false
	}
	text, _ := dynamo.Attribute(it, c.TTL)
	seconds, err := strconv.ParseInt(text, 10, 64)
	age := c.from.raw.Now().Sub(time.Unix(seconds, 0))
	return err == nil && age >= 0 && age < ttlKeeps
}
