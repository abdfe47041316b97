package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/keyname"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// shardMap is what a grower calls of the shard map.
type shardMap interface {
	// Refresh reads the key's entry, and takes it into the view.
	Refresh(ctx context.Context, key string, now time.Time) (shardmap.Entry, error)
	// GrowFrom changes the count, unless somebody else has since the entry was seen:
	// that is ErrNoChange, with the newer entry.
	GrowFrom(ctx context.Context, seen shardmap.Entry, count int, note shardmap.Note, now time.Time) (shardmap.Entry, error)
	// Partitions is how many partitions a table has: see [kind.Table].
	Partitions(table string) int
}

// grower is the [shard.Observer] that raises the shard count of a key as soon as its writes
// are throttled, by the rule of package growth. Its work is part of the request whose attempt
// it observes: a container is frozen between requests.
type grower struct {
	keys    *growth.Keys
	shards  shardMap
	control growth.Control
	names   keyname.Style
	log     *slog.Logger
	now     func() time.Time
	wait    func(context.Context) bool // for a random while; false when the context has ended
}

func newGrower(settings Settings, shards shardMap, log *slog.Logger) *grower {
	return &grower{
		keys: growth.NewKeys(growth.MaxKeys), shards: shards, control: settings.Control, names: settings.MetricNames,
		log: log, now: time.Now, wait: waitAWhile,
	}
}

func waitAWhile(ctx context.Context) bool { return dynamo.Pause(ctx, rand.N(growth.MaxWait)) }

// ObserveAttempt raises the key's count if the attempt is the last evidence that was missing.
func (g *grower) ObserveAttempt(ctx context.Context, a shard.Attempt) {
	if g.control == growth.Off {
		return
	}
	traits := kind.Of(kind.Kind(a.Kind))
	partitions := g.shards.Partitions(traits.Table)
	bound := growth.Bound(partitions)
	switch answer := g.keys.Observe(a, bound, g.now()); {
	case answer == growth.Bounded:
		g.log.Warn("more write shards do not help: the table's partitions are the limit",
			"key", g.names.Shown(a.Key), "shards", a.Shards, "partitions", partitions)
	case a.Pinned:
	case answer == growth.Refresh:
		// If hits that wait went by newer counts, more of them would transfer quota at the same time.
		if !traits.Divides && g.wait(ctx) {
			g.refresh(ctx, a.Key)
		}
	case answer == growth.Ask:
		g.keys.Asked(a.Key, g.ask(ctx, a, bound), g.now())
	}
}

// ask reads the key's entry, and raises its count if that is no newer than the attempt. It
// returns the version that is known then.
func (g *grower) ask(ctx context.Context, a shard.Attempt, bound int) (version int64) {
	if !g.wait(ctx) {
		return a.Version
	}
	entry, ok := g.refresh(ctx, a.Key)
	switch {
	case !ok:
		return a.Version
	case entry.Version != a.Version || entry.Pinned || !g.keys.Entitled(a, g.now()):
		return entry.Version
	}
	return g.grow(ctx, entry, growth.Next(kind.Of(kind.Kind(a.Kind)).Placement, a.Shards, bound))
}

// refresh reads the key's entry into the view. If it can't be read, the view stays as it is.
func (g *grower) refresh(ctx context.Context, key string) (entry shardmap.Entry, ok bool) {
	entry, err := g.shards.Refresh(ctx, key, g.now())
	if err != nil {
		g.log.Warn("shard count not read", "key", g.names.Shown(key), "error", err)
	}
	return entry, err == nil
}

// grow changes the count of an entry, and returns its version then.
func (g *grower) grow(ctx context.Context, seen shardmap.Entry, count int) (version int64) {
	key, why := g.names.Shown(seen.Key), throttledOn(seen.History.Newest())
	if g.control == growth.Observe {
		g.log.Warn("would grow", "key", key, "shards", count, "why", why)
		return seen.Version
	}
	entry, err := g.shards.GrowFrom(ctx, seen, count, shardmap.Note{By: "ingest", Why: why}, g.now())
	switch {
	case err == nil:
		g.log.Warn("grown", "key", key, "shards", count, "effective_at", entry.Effective(), "why", why)
	case errors.Is(err, shardmap.ErrNoChange), errors.Is(err, shardmap.ErrPinned): // somebody was faster
	default:
		g.log.Error("not grown", "key", key, "shards", count, "error", err)
		return seen.Version
	}
	return entry.Version
}

// throttledOn returns the reason of a growth, for logs and the shard map's history.
func throttledOn(shards int) string {
	if shards == 1 {
		return "At least half its writes were throttled (1 shard)"
	}
	return fmt.Sprintf("At least half its writes were throttled (%d shards)", shards)
}
