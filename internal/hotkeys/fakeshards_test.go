package hotkeys_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// fakeShards is a shard map in memory, with the rules of the real one.
type fakeShards struct {
	entries    map[string]shardmap.Entry
	changes    []string
	notes      []shardmap.Note
	partitions int            // of tables that are not in few; shardmap.FewPartitions if 0
	few        map[string]int // partitions by table
	noted      []string       // calls of NotePartitions
	snapshots  int            // calls of StoreSnapshot
	fail       error          // of every read and change

	failChange error
	failNote   error  // of NotePartitions and StoreSnapshot
	before     func() // called before a change
}

func (f *fakeShards) Lookup(_ context.Context, key string, _ time.Time) (shardmap.Entry, error) {
	return f.entries[key], f.fail
}

func (f *fakeShards) Entries(context.Context) ([]shardmap.Entry, error) {
	return slices.Collect(maps.Values(f.entries)), f.fail
}

func (f *fakeShards) Partitions(table string) int {
	return cmp.Or(f.few[table], f.partitions, shardmap.FewPartitions)
}

func (f *fakeShards) NotePartitions(_ context.Context, table string, n int, _ time.Time) error {
	f.noted = append(f.noted, fmt.Sprint(table, " ", n))
	return f.failNote
}

func (f *fakeShards) StoreSnapshot(ctx context.Context, _ time.Time) error {
	f.snapshots++
	if end, ok := ctx.Deadline(); !ok || time.Until(end) < 10*time.Second {
		return context.DeadlineExceeded
	}
	return f.failNote
}

func (f *fakeShards) GrowFrom(_ context.Context, seen shardmap.Entry, count int, note shardmap.Note, now time.Time) (shardmap.Entry, error) {
	return f.change(seen, count, count > seen.History.Newest(), note, now)
}

func (f *fakeShards) ShrinkFrom(_ context.Context, seen shardmap.Entry, count int, note shardmap.Note, now time.Time) (shardmap.Entry, error) {
	return f.change(seen, count, count < seen.History.Newest(), note, now)
}

// change makes a change if the entry is still the one that was seen. It returns [shardmap.ErrNoChange] for a count in
// the wrong direction.
func (f *fakeShards) change(seen shardmap.Entry, count int, direction bool, note shardmap.Note, now time.Time) (shardmap.Entry, error) {
	if f.before != nil {
		f.before()
	}
	key := seen.Key
	entry := f.entries[key]
	switch {
	case entry.Version != seen.Version:
		return entry, shardmap.ErrNoChange
	case f.fail != nil || f.failChange != nil:
		return entry, cmp.Or(f.fail, f.failChange)
	case entry.Pinned:
		return entry, shardmap.ErrPinned
	case !direction:
		return entry, shardmap.ErrNoChange
	}
	f.changes = append(f.changes, fmt.Sprintf("%s %d>%d", key, entry.History.Newest(), count))
	f.notes = append(f.notes, note)
	f.set(key, count, now.Add(lead))
	return f.entries[key], nil
}

// lead is the time until a change takes effect.
const lead = 10 * time.Second

// set adds a change to a key's entry.
func (f *fakeShards) set(key string, count int, at time.Time) {
	entry := f.entries[key]
	entry.Key = key
	entry.Version++
	entry.History = append(slices.Clone(entry.History), shard.Change{At: at, Count: count})
	f.entries[key] = entry
}
