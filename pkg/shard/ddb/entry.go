package ddb

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Entry is what the shard map knows of one base key. The zero value is a key
// that never had another count than 1.
//
// Its item has the attributes that the write-sharding article on the AWS
// database blog uses, and ours:
//
//	pk               S  the base key, with its type's prefix: C#page/home
//	number_of_shards N  the newest shard count
//	last_updated     N  when it was set, Unix seconds
//	shard_history    L  "epoch:count" for each change, S
//	version          N  raised by one with every change
//	max_shards       N  the largest count ever
//	effective_at     N  when the newest count comes into force, Unix seconds
//	pinned           BOOL  set by a person: the controller leaves it alone
//	notes            M  for each change's epoch: by S, why S
type Entry struct {
	Key     string
	History shard.History
	Max     int // the largest count ever, 0 for a key that is not in the map
	Version int64
	Pinned  bool
	Updated time.Time
	Notes   map[int64]Note // by the Unix seconds of changes

	fault error // why the item could not be read; then there is only the version, if that
}

// Note says who made a change, and why.
type Note struct{ By, Why string }

// Effective is when the newest change comes into force; zero without a change.
func (e Entry) Effective() time.Time {
	if len(e.History) == 0 {
		return time.Time{}
	}
	return e.History[len(e.History)-1].At
}

// Most returns the largest shard count that the key ever had, at least 1.
func (e Entry) Most() int { return max(1, e.Max) }

// forgotten tells whether changes from before t were cut off the history, so that
// the count at t can't be told from it. Every change raises the version by one.
func (e Entry) forgotten(t time.Time) bool {
	return e.Version > int64(len(e.History)) && len(e.History) > 0 && t.Before(e.History[0].At)
}

// spread is on how many write shards events from from to to may be: a backfill of
// times that the history has forgotten may be on any.
func (e Entry) spread(from, to time.Time) int {
	if e.forgotten(from) {
		return e.Most()
	}
	return e.History.Max(from, to)
}

// Attributes of entries and log items.
const (
	attrCount     = "number_of_shards"
	attrUpdated   = "last_updated"
	attrHistory   = "shard_history"
	attrVersion   = "version"
	attrMax       = "max_shards"
	attrEffective = "effective_at"
	attrPinned    = "pinned"
	attrNotes     = "notes"
	attrKey       = "key"     // log items: the base key that changed
	attrDeletion  = "deleted" // log items: a base key was deleted
	attrHint      = "hint"    // of these: 16 bits of its CRC-32
)

const logPrefix = "log#"

func logKey(seq int64) item {
	return item{schema.PK: &types.AttributeValueMemberS{Value: logPrefix + strconv.FormatInt(seq, 10)}}
}

// logNumber reads the number of a log item's partition key; ok is false for other
// keys, also those that only look like one.
func logNumber(pk string) (seq int64, ok bool) {
	digits, ok := strings.CutPrefix(pk, logPrefix)
	seq, err := strconv.ParseInt(digits, 10, 64)
	return seq, ok && err == nil && seq > 0 && strconv.FormatInt(seq, 10) == digits
}

// parseEntry reads a key's item, or the copy of it that a log item has.
func parseEntry(key string, it item) (Entry, error) {
	e := Entry{Key: key}
	var texts []string
	if list, ok := it[attrHistory].(*types.AttributeValueMemberL); ok {
		for _, v := range list.Value {
			s, _ := v.(*types.AttributeValueMemberS)
			if s == nil {
				return e, fmt.Errorf("shard map: %q: %s holds something else than text", key, attrHistory)
			}
			texts = append(texts, s.Value)
		}
	}
	var err error
	if e.History, err = shard.ParseHistory(texts); err != nil {
		return e, fmt.Errorf("shard map: %q: %w", key, err)
	}
	fields := map[string]*int64{attrVersion: &e.Version, attrMax: new(int64), attrUpdated: new(int64)}
	for name, into := range fields {
		if *into, err = integer(it, name); err != nil {
			return e, fmt.Errorf("shard map: %q: %w", key, err)
		}
	}
	e.Max = max(int(*fields[attrMax]), e.History.Max(time.Time{}, farFuture))
	e.Updated = time.Unix(*fields[attrUpdated], 0).UTC()
	if pinned, ok := it[attrPinned].(*types.AttributeValueMemberBOOL); ok {
		e.Pinned = pinned.Value
	}
	if e.Max > shard.MaxShards {
		return e, fmt.Errorf("shard map: %q: %d write shards are more than %d", key, e.Max, shard.MaxShards)
	}
	e.Notes = parseNotes(it)
	return e, nil
}

func parseNotes(it item) map[int64]Note {
	notes := map[int64]Note{}
	list, _ := it[attrNotes].(*types.AttributeValueMemberM)
	if list == nil {
		return notes
	}
	for epoch, v := range list.Value {
		at, err := strconv.ParseInt(epoch, 10, 64)
		note, ok := v.(*types.AttributeValueMemberM)
		if err == nil && ok {
			notes[at] = Note{By: text(note.Value, "by"), Why: text(note.Value, "why")}
		}
	}
	return notes
}

// attributes returns the entry's item, without its key.
func (e Entry) attributes() item {
	list := &types.AttributeValueMemberL{}
	for _, s := range e.History.Strings() {
		list.Value = append(list.Value, &types.AttributeValueMemberS{Value: s})
	}
	notes := &types.AttributeValueMemberM{Value: item{}}
	for at, n := range e.Notes {
		notes.Value[strconv.FormatInt(at, 10)] = &types.AttributeValueMemberM{Value: item{
			"by": &types.AttributeValueMemberS{Value: n.By}, "why": &types.AttributeValueMemberS{Value: n.Why},
		}}
	}
	return item{
		attrCount:     number(int64(e.History.Newest())),
		attrUpdated:   number(e.Updated.Unix()),
		attrHistory:   list,
		attrVersion:   number(e.Version),
		attrMax:       number(int64(e.Max)),
		attrEffective: number(max(0, e.Effective().Unix())), // 0 without a change
		attrPinned:    &types.AttributeValueMemberBOOL{Value: e.Pinned},
		attrNotes:     notes,
	}
}

var farFuture = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// integer reads a number attribute; an absent one is 0.
func integer(it item, name string) (int64, error) {
	if it[name] == nil {
		return 0, nil
	}
	n, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("attribute %s is not a number", name)
	}
	value, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("attribute %s: %w", name, err)
	}
	return value, nil
}
