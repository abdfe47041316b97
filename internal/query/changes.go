package query

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// changes has the changes of shard counts in a time range, by base key, oldest first.
type changes = map[string][]heat.Change

const (
	maxChanged = 200  // bounds the shard map entries that one answer reads: the keys that changed last
	maxNoted   = 2000 // bounds the shard map entries that are cached between answers
)

// noteCache caches shard map entries with their notes, which the map's view lacks. A cached entry stays valid until the key
// has a higher version, or was deleted and made again, which counts versions from 1.
type noteCache struct{ entries dynamo.Cache[shardmap.Entry] }

func newNoteCache() noteCache { return noteCache{dynamo.NewCache[shardmap.Entry](maxNoted)} }

// entryWithNotes returns the entry of seen's key with its notes. The entry may be newer than seen.
func (n noteCache) entryWithNotes(ctx context.Context, shards ShardCounts, seen shardmap.Entry) (shardmap.Entry, error) {
	if cached, ok := n.entries.Get(seen.Key); ok && cached.Version >= seen.Version && !seen.Updated.After(cached.Updated) {
		return cached, nil
	}
	entry, err := shards.Read(ctx, seen.Key)
	if err != nil {
		return entry, fmt.Errorf("reading the notes of %q in the shard map: %w", seen.Key, dynamo.Classify(err))
	}
	n.entries.Set(seen.Key, entry)
	return entry, nil
}

// changesIn returns the changes that took effect in [from, to), of the maxChanged keys that changed last.
func (h *Heat) changesIn(ctx context.Context, from, to, now time.Time) (changes, error) {
	if h.options.Shards == nil {
		return nil, nil
	}
	entries, err := h.options.Shards.Since(ctx, from, now)
	if err != nil {
		return nil, err
	}
	entries = entries[:min(len(entries), maxChanged)]
	if err := h.addNotes(ctx, entries); err != nil {
		return nil, err
	}
	found := make(changes)
	for _, entry := range entries {
		base, err := schema.ParseBaseKey(entry.Key)
		if err != nil {
			continue // a key of another program
		}
		before := 1
		for _, c := range entry.History {
			note, at := entry.Notes[c.At.UnixMilli()], httpapi.EffectiveTime(base.Type, entry, c)
			if !at.Before(from) && at.Before(to) && c.Count != before {
				found[entry.Key] = append(found[entry.Key], heat.Change{Time: display.Time{Time: at}, Shards: c.Count, Before: before, By: note.By, Why: note.Why})
			}
			before = c.Count
		}
	}
	return found, nil
}

// addNotes replaces entries of the map's view by the same entries with notes.
func (h *Heat) addNotes(ctx context.Context, entries []shardmap.Entry) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dynamo.MaxParallel)
	for i, seen := range entries {
		group.Go(func() (err error) {
			entries[i], err = h.notes.entryWithNotes(ctx, h.options.Shards, seen)
			return err
		})
	}
	return group.Wait()
}

// throttledAt returns when a throttled writer last raised a key's count, or zero if none did. changes are sorted by time.
func throttledAt(changes []heat.Change) (at display.Time) {
	for _, c := range changes {
		if c.Throttled() {
			at = c.Time
		}
	}
	return at
}
