package shardmap

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/memo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Client is what a Map calls of DynamoDB.
type Client interface {
	dynamo.Getter
	dynamo.Querier
}

// Bounds of a Map.
const (
	// CountAge is the age up to which counters and boards go by a view that can't be
	// renewed. Beyond it they look their key up by itself.
	CountAge = time.Minute
	// MaxKeys bounds the sharded keys that a process holds; further ones are
	// looked up one by one and remembered for a view's age.
	MaxKeys = 100_000
	// FewPartitions is how many partitions a table has about which nothing was noted,
	// as a new one on demand.
	FewPartitions = 4
)

// Map is a process's view of the shard map: the shard count of every base key,
// as a function of time. Its table has the keys pk and sk of type S, and TTL on
// expires_at; setup.Create makes it.
//
// It costs nothing per write. The first call, or [Map.Load], reads all keys, which are
// only those whose count ever was not 1; from then on a call that finds the view
// older than [Options].ViewAge reads the log of changes from a little before it last
// did, which is one Query. A key that the view doesn't hold has count 1.
//
// A change is an item of the log, by its time, and what a view has already seen of it
// does nothing again: the higher version of a key counts. So a view misses nothing as
// long as the log is read from early enough, and still is there: one that was not
// renewed for half an hour is loaded anew.
//
// Whoever finds the view too old starts its renewal, which others who meet it wait
// for, each as long as its own context lasts. It goes on without them, for
// [RenewTime] at most, and a load that did not come to its end
// goes on from there the next time. Who came in the midst of one that fails waits for
// the next, which may be his own.
//
// Keys are one name space. hotshard's own have the prefix of their type: C# counters,
// E# entities, L# boards, S# sessions, R# limits; counters.Key and its like make them. A Table
// or a Tally of package table looks its names up as they are, so give those that share the map
// a Namespace each. An empty key is ErrMisused.
//
// Ages are by the wall clock, since a frozen process's monotonic clock stands
// still.
type Map struct {
	stored
	options Options
	times   mapTimes
	maxKeys int

	mu    sync.Mutex
	view  *view    // what is known; replaced when it is loaded anew
	under *renewal // the renewal that is under way, nil for none

	loading *mapLoad // a load that has yet to come to its end; the renewal's alone

	rest memo.Memo[looked] // keys looked up singly
}

type looked struct {
	entry Entry
	at    time.Time
}

// New returns a Map over the shard-map table. It reads nothing yet. Of a time that is
// beyond its bound the map has the bound.
func New(client Client, table string, o Options) *Map {
	return newMap(client, table, o, MaxKeys)
}

func newMap(client Client, table string, o Options, maxKeys int) *Map {
	return &Map{
		stored: stored{client, table}, options: o.withDefaults(), times: soundTimes, maxKeys: maxKeys, view: &view{},
		rest: memo.New[looked](maxKeys),
	}
}

// Options returns the map's times, with the defaults filled in.
func (m *Map) Options() Options { return m.options }

// current returns the view as it is.
func (m *Map) current() *view {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.view
}

// Load brings the view up to now, for a process that has the time before its first
// call. It is an error of kind ErrStale when that fails; the first call tries again.
func (m *Map) Load(ctx context.Context, now time.Time) error { return m.renew(ctx, now.Round(0)) }

// Lookup returns the entry of a base key in a view that is at most ViewAge old
// at now, renewing the view when needed. If that fails, it returns an error of
// kind ErrStale together with what the old view says.
func (m *Map) Lookup(ctx context.Context, key string, now time.Time) (Entry, error) {
	if err := usable(key); err != nil {
		return Entry{}, err
	}
	stale := m.renew(ctx, now.Round(0))
	entry, ok, partial := m.current().find(key)
	if entry.fault != nil {
		return entry, fmt.Errorf("%w: %w", shard.ErrStale, entry.fault)
	}
	if ok || !partial || stale != nil {
		return entry, stale
	}
	return m.lookupRest(ctx, key, now.Round(0))
}

// usable refuses what can't be a sort key.
func usable(key string) error {
	if key == "" {
		return fmt.Errorf("%w: a key of the shard map is empty", shard.ErrMisused)
	}
	return nil
}

// patience is how long a counter's write waits for a younger view.
const patience = 250 * time.Millisecond

// Newest returns a key's entry, and on how many write shards it is written, for a write
// that needs no agreement with others: every count that was ever in force, and 1, is right
// for a counter. So the caller that starts a renewal waits for it, not for long, and the
// others go on with what there is.
//
// What is older than CountAge is not gone by: a key that was deleted meanwhile has
// no other write shards that a strong read would know of. Then, or without a view, the
// key's own item says on how many write shards such a read looks. If that can't be read
// either, there is one, which is always right.
func (m *Map) Newest(ctx context.Context, key string, now time.Time) (entry Entry, count int) {
	now = now.Round(0)
	m.glance(ctx, now)
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
		return Entry{}, 1
	case young:
		return entry, entry.History.Newest()
	}
	return entry, entry.Most()
}

// glance has an old view renewed, and waits a little if nobody else had begun to.
func (m *Map) glance(ctx context.Context, now time.Time) {
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

// Refresh reads one key's item, consistently, and takes it into the view if it is newer
// than what is there. It makes one attempt, a read unit for 4 KB, and leaves the view as
// it is if that fails.
func (m *Map) Refresh(ctx context.Context, key string, now time.Time) (Entry, error) {
	if err := usable(key); err != nil {
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

// adopt takes over what a key's item was just seen or made to be.
func (m *Map) adopt(entry Entry, there bool, now time.Time) {
	if there {
		m.current().learn(entry)
	} else {
		m.current().replace(entry, false)
	}
	if entry.fault == nil {
		m.rest.Set(entry.Key, looked{entry, now.Round(0)})
	}
}

// Partitions returns how many partitions the items table has, as was noted last when
// the view was renewed; FewPartitions without a note.
func (m *Map) Partitions() int { return m.current().noted() }
