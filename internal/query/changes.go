package query

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/jsontime"
	"github.com/hotshard/hotshard/internal/base/memo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// changes has the changes of a time by base key, oldest first.
type changes = map[string][]heat.Change

// Bounds of the shard map entries that one answer reads, and of those cached between answers.
const (
	maxChanged = 200 // the keys that changed last
	maxNoted   = 2000
)

// noted caches entries with their notes, which a view lacks. An entry's version never changes, so a
// cached one stays valid.
type noted struct{ entries memo.Memo[shardmap.Entry] }

func newNoted() noted { return noted{memo.New[shardmap.Entry](maxNoted)} }

// entry returns the entry with its notes.
func (n noted) entry(ctx context.Context, shards ShardCounts, seen shardmap.Entry) (shardmap.Entry, error) {
	if held, ok := n.entries.Get(seen.Key); ok && held.Version >= seen.Version {
		return held, nil
	}
	entry, err := shards.Read(ctx, seen.Key)
	if err != nil {
		return entry, fmt.Errorf("reading who changed the shard count of %q: %w", seen.Key, dynamo.Kind(err))
	}
	n.entries.Set(seen.Key, entry)
	return entry, nil
}

// changed returns the changes that took effect at from or later, and before to.
func (h *Heat) changed(ctx context.Context, from, to, now time.Time) (changes, error) {
	if h.o.Shards == nil {
		return nil, nil
	}
	entries, err := h.o.Shards.Since(ctx, from, now)
	if err != nil {
		return nil, err
	}
	found := make(changes)
	for _, seen := range entries[:min(len(entries), maxChanged)] {
		entry, err := h.noted.entry(ctx, h.o.Shards, seen)
		if err != nil {
			return nil, err
		}
		base, err := schema.ParseBaseKey(entry.Key)
		if err != nil {
			continue // not of hotshard's own keys
		}
		before := 1
		for _, c := range entry.History {
			note, at := entry.Notes[c.At.UnixMilli()], httpapi.InForce(base.Type, entry, c)
			if !at.Before(from) && at.Before(to) && c.Count != before {
				found[entry.Key] = append(found[entry.Key], heat.Change{Time: jsontime.Time{Time: at}, Shards: c.Count, Before: before, By: note.By, Why: note.Why})
			}
			before = c.Count
		}
	}
	return found, nil
}

// throttledAt returns when a writer last raised a key's count, or zero if none did.
func throttledAt(changes []heat.Change) (at jsontime.Time) {
	for _, c := range changes {
		if c.Throttled() {
			at = c.Time
		}
	}
	return at
}

// joined returns all changes, and the fresh ones that are later.
func joined(all, fresh changes) changes {
	all = maps.Clone(all)
	if all == nil {
		all = make(changes)
	}
	for key, list := range fresh {
		for _, one := range list {
			if known := all[key]; len(known) == 0 || one.Time.After(known[len(known)-1].Time.Time) {
				all[key] = append(known[:len(known):len(known)], one)
			}
		}
	}
	return all
}
