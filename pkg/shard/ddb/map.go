package ddb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/maypok86/otter/v2"
)

// MapClient is what a Map calls of DynamoDB.
type MapClient interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Bounds of a Map.
const (
	// ViewAge is the age beyond which a view of the shard map is renewed.
	ViewAge = 3 * time.Second
	// MaxKeys bounds the sharded keys that a process holds; further ones are
	// looked up one by one and remembered for ViewAge.
	MaxKeys = 100_000
)

// Map is a process's view of the shard map: the shard count of every base key,
// as a function of time.
//
// It costs nothing per write. The first call reads the whole table, which holds
// only keys whose count ever was not 1; from then on a call that finds the view
// older than ViewAge reads the change log on from where it was, which is one
// GetItem when nothing changed. A key that the view doesn't hold has count 1.
//
// Ages are by the wall clock, since a frozen process's monotonic clock stands
// still.
type Map struct {
	client  MapClient
	table   string
	maxKeys int

	poll sync.Mutex // held by the one that renews the view

	mu      sync.RWMutex
	at      time.Time        // start of the newest poll, by the wall clock
	seq     int64            // last change of the log that the view holds
	keys    map[string]Entry // by base key
	partial bool             // keys is full: a key's absence means nothing

	rest *otter.Cache[string, looked] // keys looked up singly
}

type looked struct {
	entry Entry
	at    time.Time
}

// NewMap returns a Map over the shard-map table. It reads nothing yet.
func NewMap(client MapClient, table string) *Map {
	return newMap(client, table, MaxKeys)
}

func newMap(client MapClient, table string, maxKeys int) *Map {
	return &Map{
		client: client, table: table, maxKeys: maxKeys,
		rest: otter.Must(&otter.Options[string, looked]{MaximumSize: maxKeys}),
	}
}

// Lookup returns the entry of a base key in a view that is at most ViewAge old
// at now, renewing the view when needed. If that fails, it returns an error of
// kind ErrStale together with what the old view says.
func (m *Map) Lookup(ctx context.Context, key string, now time.Time) (Entry, error) {
	stale := m.renew(ctx, now.Round(0))
	m.mu.RLock()
	entry, ok := m.keys[key]
	partial := m.partial
	m.mu.RUnlock()
	if entry.fault != nil {
		return entry, fmt.Errorf("%w: %w", ErrStale, entry.fault)
	}
	if ok || !partial || stale != nil {
		return entry, stale
	}
	return m.lookupRest(ctx, key, now.Round(0))
}

// patience is how long a counter's write waits for a younger view.
const patience = 250 * time.Millisecond

// count returns the newest shard count for a write that needs no agreement with
// others: every count that was ever in force, and 1, is right for a counter. So
// one caller at a time tries for a younger view, not for long, and the others go
// on with what there is.
func (m *Map) count(ctx context.Context, key string, now time.Time) int {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	now = now.Round(0)
	if !m.fresh(now) && m.poll.TryLock() {
		_ = m.bringUp(ctx, now) // an old view is good enough
		m.poll.Unlock()
	}
	m.mu.RLock()
	entry, ok := m.keys[key]
	partial := m.partial
	m.mu.RUnlock()
	if !ok && partial {
		entry, _ = m.lookupRest(ctx, key, now) // likewise
	}
	return entry.History.Newest()
}

// renew brings the view up to now unless it is young enough. Callers that meet
// wait for one renewal instead of each doing one.
func (m *Map) renew(ctx context.Context, now time.Time) error {
	if m.fresh(now) {
		return nil
	}
	m.poll.Lock()
	defer m.poll.Unlock()
	if m.fresh(now) {
		return nil
	}
	if err := m.bringUp(ctx, now); err != nil {
		return fmt.Errorf("%w: %w", ErrStale, err)
	}
	return nil
}

// reloadAge is the age beyond which a view is read anew instead of being brought
// up by the log, whose old items may be gone by then.
const reloadAge = time.Hour

// bringUp makes the view one of now. The caller holds poll.
func (m *Map) bringUp(ctx context.Context, now time.Time) error {
	m.mu.RLock()
	young := m.keys != nil && now.Sub(m.at) < reloadAge
	m.mu.RUnlock()
	if young {
		if err := m.follow(ctx, now); !errors.Is(err, errDeletion) {
			return err
		}
	}
	return m.load(ctx, now)
}

func (m *Map) fresh(now time.Time) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	age := now.Sub(m.at) // below 0 for a request that began before the poll's
	return m.keys != nil && age <= ViewAge && age > -ViewAge
}

// apply takes over an entry unless the view has a newer one. One that could not be
// read makes its key's lookups fail, and no other's. The caller holds mu.
func (m *Map) apply(entry Entry) {
	old, held := m.keys[entry.Key]
	switch {
	case held && old.fault == nil && old.Version >= entry.Version:
	case !held && len(m.keys) >= m.maxKeys:
		m.partial = true
	default:
		m.keys[entry.Key] = entry
	}
}

func (m *Map) lookupRest(ctx context.Context, key string, now time.Time) (Entry, error) {
	if hit, ok := m.rest.GetIfPresent(key); ok && now.Sub(hit.at) <= ViewAge {
		return hit.entry, nil
	}
	entry, err := m.Read(ctx, key)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrStale, err)
	}
	m.rest.Set(key, looked{entry, now})
	return entry, nil
}

// Entries returns all the entries there are at now, in no order, without those that
// can't be read. It is an error of
// kind ErrStale when the view can't be brought up.
func (m *Map) Entries(ctx context.Context, now time.Time) ([]Entry, error) {
	if _, err := m.latest(ctx, now); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStale, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var entries []Entry
	for _, e := range m.keys {
		if e.fault == nil {
			entries = append(entries, e)
		}
	}
	return entries, nil
}
