package ddb

import (
	"context"
	"fmt"
	"strings"
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
	// CountAge is the age up to which counters and boards go by a view that can't be
	// renewed. Beyond it they use one write shard, which is always right.
	CountAge = time.Minute
	// MaxKeys bounds the sharded keys that a process holds; further ones are
	// looked up one by one and remembered for ViewAge.
	MaxKeys = 100_000
)

// Map is a process's view of the shard map: the shard count of every base key,
// as a function of time. Its table has a partition key pk of type S and no sort
// key; [TableInputs] makes it.
//
// It costs nothing per write. The first call reads the whole table, which holds
// only keys whose count ever was not 1; from then on a call that finds the view
// older than ViewAge reads the change log on from where it was, which is one
// GetItem when nothing changed. A key that the view doesn't hold has count 1.
//
// Whoever finds the view too old starts its renewal, which others who meet it wait
// for, each as long as its own context lasts. It goes on without them, for
// [RenewTime] at most, and a reading of the whole table that did not come to its end
// goes on from there the next time. Who came in the midst of one that fails waits for
// the next, which may be his own.
//
// Keys are one name space. hotshard's own have the prefix of their type: C# counters,
// E# entities, L# boards, S# sessions, R# limits. A [Table] or a [Tally] looks its
// names up as they are, so give those that share the map a [Namespace] each. A key
// that begins with log# would be taken for the change log: that is ErrMisused, and so
// is an empty one.
//
// Ages are by the wall clock, since a frozen process's monotonic clock stands
// still.
type Map struct {
	client  MapClient
	table   string
	maxKeys int

	mu    sync.Mutex
	view  *view    // what is known; replaced when it is loaded anew
	under *renewal // the renewal that is under way, nil for none

	loading *mapLoad // a load that has yet to come to its end; the renewal's alone

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
		client: client, table: table, maxKeys: maxKeys, view: &view{},
		rest: otter.Must(&otter.Options[string, looked]{MaximumSize: maxKeys}),
	}
}

// current returns the view as it is.
func (m *Map) current() *view {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.view
}

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
		return entry, fmt.Errorf("%w: %w", ErrStale, entry.fault)
	}
	if ok || !partial || stale != nil {
		return entry, stale
	}
	return m.lookupRest(ctx, key, now.Round(0))
}

// usable refuses keys that would be items of the change log.
func usable(key string) error {
	if key == "" || strings.HasPrefix(key, logPrefix) {
		return fmt.Errorf("%w: %q can't be a key of the shard map", ErrMisused, key)
	}
	return nil
}

// patience is how long a counter's write waits for a younger view.
const patience = 250 * time.Millisecond

// newest returns the entry of a key for a write that needs no agreement with others,
// of which the newest count matters: every count that was ever in force, and 1, is right
// for a counter. So
// the caller that starts a renewal waits for it, not for long, and the others go
// on with what there is.
//
// What is older than CountAge is not gone by: a key that was deleted meanwhile has
// no other write shards that a strong read would know of.
func (m *Map) newest(ctx context.Context, key string, now time.Time) Entry {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	now = now.Round(0)
	if !m.current().fresh(now) {
		if r, mine := m.start(ctx, now); mine {
			_ = r.wait(ctx) // an old view is good enough
		}
	}
	v := m.current()
	if !v.younger(now, CountAge) {
		return Entry{}
	}
	entry, ok, partial := v.find(key)
	if !ok && partial {
		entry, _ = m.lookupRest(ctx, key, now) // likewise
	}
	return entry
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
	return m.current().all(), nil
}
