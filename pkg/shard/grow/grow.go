package grow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Changer changes shard counts; *shardmap.Changer implements it.
type Changer interface {
	Current(ctx context.Context, key string) (shardmap.Entry, error)
	GrowFrom(ctx context.Context, seen shardmap.Entry, count int, note shardmap.Note, now time.Time) (shardmap.Entry, error)
	Partitions(table string) int
}

// Options are a Grower's settings. The zero value is ready to use.
type Options struct {
	Observe bool // only log each growth that is due
	// Max is the largest number of write shards of a key; 0 is [shard.MaxShards]. A read of a key queries as many write
	// shards as the key ever had.
	Max int
	// Partitions returns how many partitions a table has: a key gets at most four write shards for each.
	// If nil, the number is the shard map's, which [shardmap.Changer.NotePartitions] sets, or else
	// [shardmap.FewPartitions], the number of a new on-demand table.
	Partitions func(table string) int
	Logger     *slog.Logger            // nil is slog.Default
	By         string                  // who made a change, in the shard map's notes; default "grow"
	Shown      func(key string) string // the name of a key in log lines; nil shows the key itself
	Clock      func() time.Time        // nil is time.Now
}

// Grower is a [shard.Observer] that raises the shard count of a key soon after half of the key's writes
// were throttled by their partitions. It is safe for concurrent use.
type Grower struct {
	keys    *growth.Keys
	changer Changer
	options Options
	wait    func(context.Context) bool // waits a random time up to growth.MaxWait; returns false if the context has ended
}

// New returns a Grower. The changer's map must be the one that the writers use. New returns ErrMisused
// if the changer is nil, or Max is not 0 to [shard.MaxShards].
func New(changer Changer, o Options) (*Grower, error) {
	if c, ok := changer.(*shardmap.Changer); changer == nil || ok && c == nil {
		return nil, fmt.Errorf("%w: grow.New: the changer is nil: pass a shardmap.Changer", shard.ErrMisused)
	}
	if o.Max < 0 || o.Max > shard.MaxShards {
		return nil, fmt.Errorf("%w: grow.New: Options.Max is %d: want 0 to %d", shard.ErrMisused, o.Max, shard.MaxShards)
	}
	o.Max, o.By = cmp.Or(o.Max, shard.MaxShards), cmp.Or(o.By, "grow")
	if o.Partitions == nil {
		o.Partitions = changer.Partitions
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Shown == nil {
		o.Shown = func(key string) string { return key }
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Grower{keys: growth.NewKeys(growth.MaxKeys), changer: changer, options: o, wait: waitRandomly}, nil
}

// Time limits of reads for which the throttled write waits.
const (
	unusedTime  = time.Second // for the partition keys of new write shards
	refreshTime = time.Second // for a key's entry
)

func waitRandomly(ctx context.Context) bool { return dynamo.Pause(ctx, rand.N(growth.MaxWait)) }

// ObserveAttempt records an attempt, and raises the key's shard count if the evidence is then sufficient. The attempt's
// write waits for the change.
func (g *Grower) ObserveAttempt(ctx context.Context, a shard.Attempt) {
	traits := schema.TraitsOf(schema.Kind(a.Kind))
	partitions := g.options.Partitions(cmp.Or(a.Table, traits.Table))
	partitionBound := growth.Bound(partitions)
	bound := min(partitionBound, g.options.Max)
	switch answer := g.keys.Observe(a, bound, g.options.Clock()); {
	case answer == growth.Bounded && bound < partitionBound:
		g.options.Logger.Warn("no more write shards are allowed: the key has the most that Max allows", "key", g.options.Shown(a.Key), "shards", a.Shards)
	case answer == growth.Bounded:
		g.options.Logger.Warn("more write shards do not help: the table's partitions are the limit",
			"key", g.options.Shown(a.Key), "shards", a.Shards, "partitions", partitions)
	case a.Pinned:
	case answer == growth.Refresh:
		// Throttled hits of a limit don't refresh it: if all saw new write shards, more would transfer quota at once.
		if !traits.DividesQuota && g.wait(ctx) {
			g.refresh(ctx, a.Key)
		}
	case answer == growth.Ask:
		g.keys.Asked(a.Key, g.refreshAndGrow(ctx, a, bound), g.options.Clock())
	}
}

// Hopeless reports whether a throttled attempt's key has been throttled for a while, and can't grow now. A writer then
// returns ErrThrottled at once, and does not wait for capacity.
func (g *Grower) Hopeless(a shard.Attempt) bool {
	traits := schema.TraitsOf(schema.Kind(a.Kind))
	bound := min(growth.Bound(g.options.Partitions(cmp.Or(a.Table, traits.Table))), g.options.Max)
	waitsForLead := traits.Placement == schema.TimedPlacement && !a.New
	mayGrow := !a.Pinned && !g.options.Observe && a.Shards < bound && !waitsForLead
	return g.keys.Hopeless(a, mayGrow, g.options.Clock())
}

// refreshAndGrow reads the key's entry, and raises the key's count if the entry is still the attempt's, is not pinned,
// there is still evidence, and checkUnused returns ok. It returns the version of the newest entry that it read or made.
func (g *Grower) refreshAndGrow(ctx context.Context, a shard.Attempt, bound int) (version int64) {
	if !g.wait(ctx) {
		return a.Version
	}
	entry, ok := g.refresh(ctx, a.Key)
	switch {
	case !ok:
		return a.Version
	case entry.Version != a.Version || entry.Pinned || !g.keys.MayGrow(a, g.options.Clock()):
		return entry.Version
	}
	count := growth.Next(schema.TraitsOf(schema.Kind(a.Kind)), a.Shards, bound)
	if version, ok := g.checkUnused(ctx, a, entry, count); !ok {
		return version
	}
	return g.grow(ctx, entry, count, a)
}

// checkUnused reports whether the partition keys of new write shards have no items. ok is also false if they were not
// read, or another process has raised the count and may have written the items. version is the newest entry's.
func (g *Grower) checkUnused(ctx context.Context, a shard.Attempt, seen shardmap.Entry, count int) (version int64, ok bool) {
	if a.CheckUnused == nil || count <= seen.Most() {
		return seen.Version, true
	}
	limited, cancel := context.WithTimeout(ctx, unusedTime)
	defer cancel()
	err := a.CheckUnused(limited, seen.Most(), count)
	if err == nil {
		return seen.Version, true
	}
	if entry, read := g.refresh(ctx, seen.Key); read && entry.Version != seen.Version {
		return entry.Version, false
	}
	if occupied, ok := errors.AsType[*shard.KeyError](err); ok {
		g.options.Logger.Error("not grown: items that the shard map does not know have the partition key of a new write shard",
			"key", g.options.Shown(seen.Key), "shards", count, "in_the_way", g.options.Shown(occupied.Key))
	} else {
		g.options.Logger.Error("not grown: the partition keys of new write shards were not read", "key", g.options.Shown(seen.Key), "shards", count, "error", err)
	}
	return seen.Version, false
}

// refresh reads the key's entry into the map's view, and returns the entry. If the read fails, refresh logs the error,
// and ok is false.
func (g *Grower) refresh(ctx context.Context, key string) (entry shardmap.Entry, ok bool) {
	limited, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	entry, err := g.changer.Current(limited, key)
	if err != nil {
		g.options.Logger.Warn("shard count not read", "key", g.options.Shown(key), "error", err)
	}
	return entry, err == nil
}

// grow raises a key's count because of an attempt, if seen is still the key's entry. It logs the result, and returns the
// version of the newest entry that it knows.
func (g *Grower) grow(ctx context.Context, seen shardmap.Entry, count int, a shard.Attempt) (version int64) {
	key, why := g.options.Shown(seen.Key), growthReason(a.Shards)
	if g.options.Observe {
		g.options.Logger.Warn("would grow", "key", key, "shards", count, "why", why)
		return seen.Version
	}
	entry, err := g.changer.GrowFrom(ctx, seen, count, shardmap.Note{By: g.options.By, Why: why, Kind: a.Kind}, g.options.Clock())
	switch {
	case err == nil:
		g.options.Logger.Warn("grown", "key", key, "shards", count, "effective_at", entry.Effective(), "why", why)
	case errors.Is(err, shardmap.ErrNoChange), errors.Is(err, shardmap.ErrPinned): // another process was faster
	case errors.Is(err, shardmap.ErrFull):
		g.options.Logger.Error("not grown: the shard map is full", "key", key, "shards", count, "error", err)
		return seen.Version
	default:
		g.options.Logger.Error("not grown", "key", key, "shards", count, "error", err)
		return seen.Version
	}
	return entry.Version
}

// growthReason returns the reason of a growth, for logs and the shard map's history; shards is the count before.
func growthReason(shards int) string {
	if shards == 1 {
		return "At least half its writes were throttled (1 shard)"
	}
	return fmt.Sprintf("At least half its writes were throttled (%d shards)", shards)
}
