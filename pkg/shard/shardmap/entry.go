package shardmap

import (
	"cmp"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Entry is the shard map's entry for one base key. Entry{Key: key} is the entry of a key whose count
// was always 1; GrowFrom accepts it.
//
// Its item has the attributes of the write-sharding article on the AWS database blog, and
// hotshard's own. Times are Unix seconds, with milliseconds as a fraction:
//
//	pk               S  keys#0 to keys#3, by the base key
//	sk               S  the base key, with its type's prefix: C#page/home
//	number_of_shards N  the newest shard count
//	last_updated     N  when it was set
//	shard_history    L  "epoch:count" for each change, S
//	version          N  raised by one with every change
//	max_shards       N  the largest count ever
//	pinned           BOOL  set by an operator: hotshard does not change the count by itself
//	forgotten        BOOL  changes before those of shard_history were dropped
//	notes            M  by a change's epoch: by S, why S, made N (when it was made)
//	deleted          BOOL  the key was deleted, and the item expires
//	expires_at       N  of a deleted key's item: a day after the deletion
type Entry struct {
	Key     string
	History shard.History
	Max     int   // the largest count ever, 0 for a key that is not in the map
	Version int64 // raised by every change; 0 for a key without an item
	Pinned  bool
	Updated time.Time // when the newest change was made
	// Forgotten means that changes before those of the history were dropped.
	Forgotten bool
	Notes     map[int64]Note // by the Unix milliseconds of a change; nil in entries that come from a view

	deleted bool  // the entry is the tombstone of a deleted key
	fault   error // why the item could not be read; the entry then has only the key, and perhaps the version
}

// Note is who made a change, why and when. The [Changer] sets Made.
type Note struct {
	By, Why string
	Made    time.Time
	// Kind is the key's kind, as [shard.Attempt] has it, or "" if it is unknown. It is not stored. A key of a kind whose
	// items depend on no past count, such as a counter, keeps only its newest changes.
	Kind string
}

// Effective returns when the newest change takes effect; zero without a change.
func (e Entry) Effective() time.Time {
	if len(e.History) == 0 {
		return time.Time{}
	}
	return e.History[len(e.History)-1].At
}

// Active returns the entry without its changes after t if they lower the count. So the newest count of
// the result is at least the count at t.
func (e Entry) Active(t time.Time) Entry { return e.activeFor(t, e.History.At(t)) }

// activeFor returns the entry with the last change to count at or before t as its newest. If the newest count is already
// count or more, activeFor drops no change.
func (e Entry) activeFor(t time.Time, count int) Entry {
	if count <= e.History.Newest() {
		return e
	}
	last := len(e.History) - 1
	for e.History[last].At.After(t) || e.History[last].Count != count {
		last--
	}
	e.History = e.History[:last+1]
	return e
}

// CountOfNew returns the shard count for a new item of time t, which no other process can name before it is stored. The
// result is the largest count in effect from t to [Margin] later, so that a growth counts at once. Readers consider all
// counts of that time, and a decrease takes effect only after all views have it.
func (e Entry) CountOfNew(t time.Time) int { return e.History.Max(t, t.Add(Margin)) }

// ActiveOfNew is Active for new items: the newest count of the result is at least CountOfNew.
func (e Entry) ActiveOfNew(t time.Time) Entry { return e.activeFor(t.Add(Margin), e.CountOfNew(t)) }

// Most returns the largest shard count that the key ever had, at least 1.
func (e Entry) Most() int { return max(1, e.Max) }

// replaces reports whether the entry is newer than old. Of equal versions, a readable entry replaces an unreadable one.
// Versions start over after tombstoneTime, when TTL has deleted a deleted key's item; half of that time leaves a margin.
func (e Entry) replaces(old Entry) bool {
	switch {
	case old.deleted && e.Updated.Sub(old.Updated) > tombstoneTime/2:
		return true
	case e.Version == old.Version:
		return old.fault != nil && e.fault == nil
	}
	return e.Version > old.Version
}

// Attributes of keys' items and log items.
const (
	attrCount     = "number_of_shards"
	attrUpdated   = "last_updated"
	attrHistory   = "shard_history"
	attrVersion   = "version"
	attrMax       = "max_shards"
	attrPinned    = "pinned"
	attrNotes     = "notes"
	attrDeleted   = "deleted"
	attrForgotten = "forgotten"
	attrKey       = "key"   // log items: the base key that changed
	attrEntry     = "entry" // log items: its entry
)

// parseEntry returns the entry of a key's item, or an error that says which attribute is damaged.
func parseEntry(key string, it dynamo.Item) (Entry, error) {
	history, err1 := parseHistory(it)
	version, err2 := dynamo.Integer(it, attrVersion)
	most, err3 := dynamo.Integer(it, attrMax)
	updated, err4 := parseSeconds(it, attrUpdated)
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return Entry{Key: key}, fmt.Errorf("reading the shard map's item of %q: %w", key, err)
	}
	e := Entry{Key: key, History: history, Version: version, Updated: updated}
	e.Max = max(int(most), history.Max(time.Time{}, farFuture))
	if e.Max > shard.MaxShards {
		return e, fmt.Errorf("the shard map's item of %q has %d write shards, of at most %d: another program wrote the item", key, e.Max, shard.MaxShards)
	}
	e.Pinned, e.Forgotten, e.deleted = dynamo.Bool(it, attrPinned), dynamo.Bool(it, attrForgotten), dynamo.Bool(it, attrDeleted)
	if e.deleted {
		e.Max = 0
	}
	e.Notes = parseNotes(it)
	return e, nil
}

// parseHistory returns the history of a key's item, which is empty if the item has none.
func parseHistory(it dynamo.Item) (shard.History, error) {
	var texts []string
	if list, ok := it[attrHistory].(*types.AttributeValueMemberL); ok {
		for _, v := range list.Value {
			s, _ := v.(*types.AttributeValueMemberS)
			if s == nil {
				return nil, fmt.Errorf("an element of %s is not of type S", attrHistory)
			}
			texts = append(texts, s.Value)
		}
	}
	return shard.ParseHistory(texts)
}

// readEntry returns the entry of an item. If the item can't be read, the entry has the error as its
// fault, and the item's version if the version is readable.
func readEntry(key string, it dynamo.Item) Entry {
	entry, err := parseEntry(key, it)
	if err != nil {
		version, _ := dynamo.Integer(it, attrVersion)
		return Entry{Key: key, Version: version, fault: err}
	}
	return entry
}

// parseNotes returns the notes of a key's item. It ignores notes that it can't read.
func parseNotes(it dynamo.Item) map[int64]Note {
	list, _ := it[attrNotes].(*types.AttributeValueMemberM)
	if list == nil {
		return nil
	}
	notes := map[int64]Note{}
	for epoch, v := range list.Value {
		at, err := shard.ParseEpoch(epoch)
		note, ok := v.(*types.AttributeValueMemberM)
		if err == nil && ok {
			n := Note{By: dynamo.Text(note.Value, "by"), Why: dynamo.Text(note.Value, "why")}
			if made, err := parseSeconds(note.Value, "made"); err == nil && note.Value["made"] != nil {
				n.Made = made
			}
			notes[at.UnixMilli()] = n
		}
	}
	return notes
}

// attributes returns the entry's item.
func (e Entry) attributes() dynamo.Item {
	it := mapKey(e.Key)
	it[attrVersion], it[attrUpdated] = dynamo.Number(e.Version), secondsValue(e.Updated)
	if e.deleted {
		it[attrDeleted] = &types.AttributeValueMemberBOOL{Value: true}
		it[schema.ExpiresAt] = dynamo.Number(e.Updated.Add(tombstoneTime).Unix())
		return it
	}
	history := &types.AttributeValueMemberL{}
	for _, s := range e.History.Strings() {
		history.Value = append(history.Value, dynamo.String(s))
	}
	notes := dynamo.Item{}
	for at, n := range e.Notes {
		note := dynamo.Item{"by": dynamo.String(n.By), "why": dynamo.String(n.Why)}
		if !n.Made.IsZero() {
			note["made"] = secondsValue(n.Made)
		}
		notes[shard.FormatEpoch(time.UnixMilli(at))] = &types.AttributeValueMemberM{Value: note}
	}
	it[attrCount], it[attrMax] = dynamo.Number(int64(e.History.Newest())), dynamo.Number(int64(e.Max))
	it[attrHistory], it[attrNotes] = history, &types.AttributeValueMemberM{Value: notes}
	it[attrPinned] = &types.AttributeValueMemberBOOL{Value: e.Pinned}
	it[attrForgotten] = &types.AttributeValueMemberBOOL{Value: e.Forgotten}
	return it
}

func mapKey(key string) dynamo.Item { return dynamo.Key(schema.MapKey(key)) }

var farFuture = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// parseSeconds returns the time of an attribute in Unix seconds, or 1970 if it is absent.
func parseSeconds(it dynamo.Item, name string) (time.Time, error) {
	if it[name] == nil {
		return time.Unix(0, 0).UTC(), nil
	}
	n, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		return time.Time{}, fmt.Errorf("attribute %s is not a number", name)
	}
	return shard.ParseEpoch(n.Value)
}

func secondsValue(t time.Time) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: shard.FormatEpoch(t)}
}
