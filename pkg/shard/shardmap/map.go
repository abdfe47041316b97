package shardmap

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// Client has the DynamoDB calls of a Map.
type Client interface {
	client.Getter
	client.Querier
}

// Bounds of a Map.
const (
	// CountAge is the age up to which counters and boards use a view that can't be renewed.
	// If the view is older, they read the key's item.
	CountAge = time.Minute
	// MaxKeys bounds the keys in the map, and so in each process's view. A change of any other key returns ErrFull.
	MaxKeys = 100_000
	// FewPartitions is what Map.Partitions returns for a table without a stored number: the partitions of a new
	// on-demand table.
	FewPartitions = 4
)

// Map is a process's view of the shard map: the shard count of every base key, as a function of time. Its table has the
// keys pk and sk of type S, and TTL on expires_at; setup.Create makes it.
//
// Most calls cost nothing. The first call, or [Map.Load], reads all keys whose count was ever changed;
// other keys are not stored, and have count 1. A later call that finds the view older than
// [Options].ViewAge polls the log of changes, with one Query.
//
// The call that finds the view too old starts a renewal. Concurrent calls wait for the renewal, each until its own
// context ends. Without callers the renewal continues for at most [RenewTime], and the next renewal continues an
// unfinished load. A call that began during a failed renewal waits for the next renewal, or starts it.
//
// All keys share one name space. hotshard's own keys have the prefix of their kind: C# counters, E# entities, L#
// boards, S# sessions, R# limits; functions such as counters.Key return them. A Table or a Tally of package table looks
// up its names without a prefix. So several of them on one map share the counts of equal names. Give a Table with
// PlainFirst a map of its own. An empty key is ErrMisused.
//
// Ages use the wall clock, since the monotonic clock of a frozen process stops.
type Map struct {
	tableReader
	options Options

	mu       sync.Mutex
	view     *view                   // each load replaces it
	inFlight *renewal                // nil if no renewal is in flight
	reads    map[string]*currentRead // in flight, by key

	loading *mapLoad // an unfinished load; only the renewal uses it

	items dynamo.Cache[cachedItem] // by key; Newest uses them while the view is too old
}

// cachedItem is a key's entry as read from its item.
type cachedItem struct {
	entry  Entry
	readAt time.Time
}

// maxCachedItems bounds the keys in Map.items.
const maxCachedItems = 1000

// New returns a Map over the shard-map table, and reads nothing yet. Options above their bounds are set to the bounds.
func New(db Client, table string, o Options) *Map {
	anyLog := schema.MapLog(rand.N(schema.MapLogs)) // each log has all changes
	return &Map{
		tableReader: tableReader{db, table, anyLog}, options: o.withDefaults(),
		view: &view{}, reads: map[string]*currentRead{}, items: dynamo.NewCache[cachedItem](maxCachedItems),
	}
}

// Options returns the map's options: defaults for those that were not set, and within their bounds.
func (m *Map) Options() Options { return m.options }

// current returns the newest view.
func (m *Map) current() *view {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.view
}

// Load renews a view older than ViewAge, so that the first call need not wait. If it fails, it returns an error that
// wraps ErrStale, and the first call tries again.
func (m *Map) Load(ctx context.Context, now time.Time) error { return m.renew(ctx, now.Round(0)) }

// Lookup returns the entry of a base key from a view that is at most ViewAge old at now; it renews an older view first.
// If that fails, it returns the old view's entry and an error that wraps ErrStale, as for an entry that can't be read.
func (m *Map) Lookup(ctx context.Context, key string, now time.Time) (Entry, error) {
	if err := cmp.Or(m.Check(), checkKey(key)); err != nil {
		return Entry{}, err
	}
	stale := m.renew(ctx, now.Round(0))
	entry := m.current().findEntry(key)
	if entry.fault != nil {
		return entry, fmt.Errorf("%w: %w", shard.ErrStale, entry.fault)
	}
	return entry, stale
}

// Since returns the entries that were last changed at from or later, newest first, out of a view that is at most ViewAge
// old at now. The entries have no notes. If the view can't be renewed, Since returns an error that wraps ErrStale.
func (m *Map) Since(ctx context.Context, from, now time.Time) ([]Entry, error) {
	if err := m.renew(ctx, now.Round(0)); err != nil {
		return nil, err
	}
	list := m.current().changedSince(from)
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Key, b.Key)) })
	return list, nil
}

// SingleUntil returns a time until which the key's count was certainly 1. The time is zero if it is unknown: the entry
// has no change, or the entry's first changes were dropped.
func (m *Map) SingleUntil(e Entry) time.Time {
	if e.Forgotten || len(e.History) == 0 {
		return time.Time{}
	}
	return e.History[0].At.Add(-m.options.lead())
}

// Check returns ErrMisused if the map or its client is nil. Every call checks this.
func (m *Map) Check() error {
	if m == nil {
		return fmt.Errorf("%w: the shard map is nil: pass the result of shardmap.New", shard.ErrMisused)
	}
	return dynamo.CheckClient(m.client)
}

// checkKey returns ErrMisused for an empty key.
func checkKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: the key to read from the shard map is empty: pass a base key, such as C#page/home", shard.ErrMisused)
	}
	return nil
}

// newestWait bounds how long Newest waits for a newer view, or for a key's item.
const newestWait = 250 * time.Millisecond

// Newest returns a key's entry, and the shard count for a counter's next write. It returns no error, since a counter may
// use any count up to the largest that it ever had. If the view is older than ViewAge, one call renews it and waits for
// at most 250 ms; concurrent calls use the old view.
//
// Newest does not use a view older than CountAge: if the key was deleted meanwhile, strongly consistent reads would
// miss its old write shards. Instead it reads the key's item, and returns the largest count ever, or 1 if that fails.
func (m *Map) Newest(ctx context.Context, key string, now time.Time) (entry Entry, count int) {
	now = now.Round(0)
	m.refreshBriefly(ctx, now)
	if v := m.current(); v.isWithin(now, CountAge) {
		entry = v.findEntry(key)
		return entry, entry.History.Newest()
	}
	entry, err := m.readCachedItem(ctx, key, now)
	if err != nil {
		return Entry{Key: key}, 1
	}
	return entry, entry.Most()
}

// readCachedItem returns the entry of a key's item, at most ViewAge old. It waits up to newestWait.
func (m *Map) readCachedItem(ctx context.Context, key string, now time.Time) (Entry, error) {
	if hit, ok := m.items.Get(key); ok && now.Sub(hit.readAt).Abs() <= m.options.ViewAge {
		return hit.entry, nil
	}
	ctx, cancel := context.WithTimeout(ctx, newestWait)
	defer cancel()
	entry, err := m.Current(ctx, key)
	if err == nil {
		m.items.Set(key, cachedItem{entry, now})
	}
	return entry, err
}

// refreshBriefly refreshes an old view. It waits up to newestWait, or not at all if another call is
// already refreshing it.
func (m *Map) refreshBriefly(ctx context.Context, now time.Time) {
	if m.Check() != nil || m.current().fresh(now, m.options.ViewAge) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, newestWait)
	defer cancel()
	if r, started := m.startRenewal(ctx, now); started {
		_ = r.wait(ctx) // an old view is good enough
	}
}

// updateView updates the view after a key's item was read or written: it adds the item's entry, or removes the key if
// the item does not exist.
func (m *Map) updateView(entry Entry, exists bool) {
	if exists {
		m.current().mergeEntry(entry)
	} else {
		m.current().replace(entry, false)
	}
}

// Partitions returns the number of a table's partitions that [Changer.NotePartitions] stored, as of the
// last poll, or FewPartitions if none was stored.
func (m *Map) Partitions(table string) int {
	if e := m.current().findEntry(partitionsPrefix + table); len(e.History) > 0 {
		return e.History.Newest()
	}
	return FewPartitions
}
