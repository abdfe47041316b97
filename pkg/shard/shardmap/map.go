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
	"github.com/hotshard/hotshard/internal/base/memo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// Client is what a Map calls of DynamoDB.
type Client interface {
	client.Getter
	client.Querier
}

// Bounds of a Map.
const (
	// CountAge is the age up to which counters and boards use a view that can't be renewed.
	// When the view is older, they read their key's item.
	CountAge = time.Minute
	// MaxKeys bounds the sharded keys that a process holds. Further keys are read one by one
	// and cached for a view's age.
	MaxKeys = 100_000
	// FewPartitions is the number of partitions assumed for a table without a note: that of a
	// new on-demand table.
	FewPartitions = 4
)

// Map is a process's view of the shard map: the shard count of every base key,
// as a function of time. Its table has the keys pk and sk of type S, and TTL on
// expires_at; setup.Create makes it.
//
// It costs nothing per write. The first call, or [Map.Load], reads all keys; only keys whose
// count was ever changed are stored. A later call that finds the view older than
// [Options].ViewAge reads the log of changes since shortly before the last poll, with one
// Query. A key that the view doesn't hold has count 1.
//
// The log has an item for each change, ordered by time. The highest version of a key counts,
// so reading a change twice does no harm. The log keeps its items for two hours, and a view
// that was not renewed for half an hour is loaded again. So a view misses no change.
//
// The call that finds the view too old starts a renewal, and concurrent calls wait for it,
// each until its own context ends. The renewal continues without them for at most
// [RenewTime], and an unfinished load continues in the next renewal. A call that began
// during a failed renewal waits for the next one, or starts it.
//
// Keys share one name space. hotshard's own keys have the prefix of their type: C# counters,
// E# entities, L# boards, S# sessions, R# limits; functions such as counters.Key make them. A
// Table or a Tally of package table looks its names up unchanged, so give each of those that
// share a map a Namespace of its own. An empty key is ErrMisused.
//
// Ages use the wall clock, since the monotonic clock of a frozen process stops.
type Map struct {
	stored
	options Options
	times   mapTimes
	maxKeys int

	mu    sync.Mutex
	view  *view    // replaced by each load
	under *renewal // the renewal in flight; may be nil

	loading *mapLoad // an unfinished load; only the renewal uses it

	rest memo.Memo[looked] // keys that were read one by one
}

type looked struct {
	entry Entry
	at    time.Time
}

// New returns a Map over the shard-map table, and reads nothing yet. Options beyond their
// bounds are set to the bounds.
func New(db Client, table string, o Options) *Map {
	return newMap(db, table, o, MaxKeys)
}

func newMap(db Client, table string, o Options, maxKeys int) *Map {
	return &Map{
		stored: stored{db, table, schema.MapLog(rand.N(schema.MapLogs))}, options: o.withDefaults(), times: soundTimes,
		maxKeys: maxKeys, view: &view{},
		rest: memo.New[looked](maxKeys),
	}
}

// Options returns the map's times, with the defaults filled in.
func (m *Map) Options() Options { return m.options }

// current returns the current view.
func (m *Map) current() *view {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.view
}

// Load renews the view, for a process that has time before its first call. If it fails, it
// returns an error of kind ErrStale, and the first call tries again.
func (m *Map) Load(ctx context.Context, now time.Time) error { return m.renew(ctx, now.Round(0)) }

// Lookup returns the entry of a base key from a view that is at most ViewAge old at now; it
// renews an older view first. If that fails, it returns the old view's entry and an error of
// kind ErrStale.
func (m *Map) Lookup(ctx context.Context, key string, now time.Time) (Entry, error) {
	if err := cmp.Or(m.given(), usable(key)); err != nil {
		return Entry{}, err
	}
	stale := m.renew(ctx, now.Round(0))
	entry, ok, partial := m.current().find(key)
	if entry.fault != nil {
		return entry, fmt.Errorf("%w: %w", shard.ErrStale, entry.fault)
	}
	if entry.Key = key; ok || !partial || stale != nil {
		return entry, stale
	}
	return m.lookupRest(ctx, key, now.Round(0))
}

// Since returns the entries whose newest change was made at t or later, newest first, from a
// view that is at most ViewAge old at now. The entries have no notes, and keys beyond MaxKeys
// are missing. If the view can't be renewed, it returns an error of kind ErrStale.
func (m *Map) Since(ctx context.Context, t, now time.Time) ([]Entry, error) {
	if err := m.renew(ctx, now.Round(0)); err != nil {
		return nil, err
	}
	list := m.current().since(t)
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Key, b.Key)) })
	return list, nil
}

// Single returns a time until which a key's count was 1, zero if the view can't tell: the entry has
// no change, or the first changes were dropped.
func (m *Map) Single(e Entry) time.Time {
	if e.Forgotten || len(e.History) == 0 {
		return time.Time{}
	}
	return e.History[0].At.Add(-m.options.lead())
}

// given returns ErrMisused if the map or its client is nil.
func (m *Map) given() error {
	if m == nil {
		return fmt.Errorf("%w: the shard map is nil", shard.ErrMisused)
	}
	return dynamo.CheckClient(m.client)
}

// usable returns an error if the key can't be a sort key of the map.
func usable(key string) error {
	if key == "" {
		return fmt.Errorf("%w: a key of the shard map is empty", shard.ErrMisused)
	}
	return nil
}

// patience is how long a counter's write waits for a newer view.
const patience = 250 * time.Millisecond

// Newest returns a key's entry, and the number of write shards for a counter's next write.
// It returns no error: every count that was ever in force is right for a counter, and so is
// 1. The call that starts a renewal waits briefly for it; concurrent calls use the old view.
//
// A view older than CountAge is not used: if the key was deleted meanwhile, a strong read
// would miss the old write shards. Then Newest reads the key's own item. If that fails too,
// the count is 1.
func (m *Map) Newest(ctx context.Context, key string, now time.Time) (entry Entry, count int) {
	now = now.Round(0)
	m.refreshBriefly(ctx, now)
	v := m.current()
	young := v.younger(now, CountAge)
	entry, ok, partial := v.find(key)
	if young && (ok || !partial) {
		return entry, entry.History.Newest()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	entry, err := m.lookupRest(ctx, key, now)
	switch {
	case err != nil:
		return Entry{Key: key}, 1
	case young:
		return entry, entry.History.Newest()
	}
	return entry, entry.Most()
}

// refreshBriefly refreshes an old view. It waits up to 250 ms, or not at all if another call refreshes it already.
func (m *Map) refreshBriefly(ctx context.Context, now time.Time) {
	if m.current().fresh(now, m.options.ViewAge) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if r, mine := m.start(ctx, now); mine {
		_ = r.wait(ctx) // an old view is good enough
	}
}

func (m *Map) lookupRest(ctx context.Context, key string, now time.Time) (Entry, error) {
	if hit, ok := m.rest.Get(key); ok && now.Sub(hit.at).Abs() <= m.options.ViewAge {
		return hit.entry, nil
	}
	entry, err := m.Read(ctx, key)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", shard.ErrStale, err)
	}
	m.rest.Set(key, looked{entry, now})
	return entry, nil
}

// Refresh reads one key's item, strongly consistent, and returns its entry. The view adopts
// a newer entry. Refresh makes one attempt, at one read unit per 4 KB; if it fails, the view
// stays as it is.
func (m *Map) Refresh(ctx context.Context, key string, now time.Time) (Entry, error) {
	if err := cmp.Or(m.given(), usable(key)); err != nil {
		return Entry{}, err
	}
	it, err := m.getOnce(ctx, key)
	if err != nil {
		return Entry{}, fmt.Errorf("reading %q of the shard map: %w", key, dynamo.Kind(err))
	}
	entry := readEntry(key, it)
	m.adopt(entry, it != nil, now)
	if entry.fault != nil {
		return entry, fmt.Errorf("%w: %w", shard.ErrStale, entry.fault)
	}
	return entry, nil
}

// adopt puts the entry of a key's item, as just read or written, into the view.
func (m *Map) adopt(entry Entry, there bool, now time.Time) {
	if there {
		m.current().mergeEntry(entry)
	} else {
		m.current().replace(entry, false)
	}
	if entry.fault == nil {
		m.rest.Set(entry.Key, looked{entry, now.Round(0)})
	}
}

// Partitions returns the number of partitions that [Changer.NotePartitions] noted of a table, as
// the newest poll has it, or FewPartitions if none was noted.
func (m *Map) Partitions(table string) int { return m.current().partitionCount(table) }
