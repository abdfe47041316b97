package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/growth"
	"github.com/hotshard/hotshard/internal/keyname"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// shardMap is what a grower calls of the shard map.
type shardMap interface {
	// Refresh reads the key's entry, and takes it into the view.
	Refresh(ctx context.Context, key string, now time.Time) (shardmap.Entry, error)
	// GrowFrom changes the count, unless somebody else has since the entry was seen:
	// that is ErrNoChange, with the newer entry.
	GrowFrom(ctx context.Context, seen shardmap.Entry, count int, note shardmap.Note, now time.Time) (shardmap.Entry, error)
	// Partitions is how many partitions the items table has.
	Partitions() int
}

// grower is the [shardmap.Watcher] that raises the shard count of a key as soon as its writes
// are refused, by the rule of package growth. Its work is part of the request that asks
// for it: a container is frozen between requests.
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

// placementOf returns how a base key's writes find their write shards.
func placementOf(key string) (p growth.Placement, ok bool) {
	base, err := schema.ParseBaseKey(key)
	return growth.PlacementOf(base.Type), err == nil
}

// Requested notes a request.
func (g *grower) Requested(r shardmap.Request) {
	if placement, ok := placementOf(r.Key); ok && g.control != growth.Off {
		g.keys.Requested(growth.Request{Key: r.Key, Placement: placement, ID: r.ID, At: r.At}, g.now())
	}
}

// Attempted notes an attempt, and has the key grow if it is entitled to that. Transactions
// that meet are a sign of heat only where writes choose their write shards at random: an
// item of a calculated place is nobody else's.
func (g *grower) Attempted(ctx context.Context, a shardmap.Attempt) {
	placement, ok := placementOf(a.Key)
	if !ok || g.control == growth.Off || a.Outcome == shardmap.Conflicted && placement != growth.Random {
		return
	}
	now, count := g.now(), a.Entry.History.Newest()
	attempt := growth.Attempt{
		Key: a.Key, Placement: placement, Request: a.Request, Version: a.Entry.Version, Count: count,
		Effective: a.Entry.Effective(), Changed: a.Entry.Updated, At: a.At, Refused: a.Outcome != shardmap.Taken,
	}
	partitions := g.shards.Partitions()
	bound := growth.Bound(partitions)
	switch answer := g.keys.Attempted(attempt, bound, now); {
	case answer == growth.Bounded:
		g.log.Warn("more write shards do not help: the table's partitions are the limit",
			"key", g.names.Shown(a.Key), "shards", count, "partitions", partitions)
	case a.Entry.Pinned:
	case answer == growth.Look:
		g.look(ctx, a.Key)
	case answer == growth.Ask:
		version := g.ask(ctx, attempt, placement.Next(count, bound))
		g.keys.Asked(a.Key, version, g.now())
	}
}

// ask reads the key's entry, and has it grow if that is no newer than the attempt. It
// returns the version that is known then.
func (g *grower) ask(ctx context.Context, a growth.Attempt, count int) (version int64) {
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
	return g.grow(ctx, entry, count)
}

// look has the request go on by what others changed, but of a limit: where hits that wait go by
// newer counts, more of them take over room at the same time.
func (g *grower) look(ctx context.Context, key string) {
	if base, err := schema.ParseBaseKey(key); err == nil && base.Type != schema.Limit && g.wait(ctx) {
		g.refresh(ctx, key)
	}
}

// refresh has the view know the key's entry of now. Where it can't be read the view stays.
func (g *grower) refresh(ctx context.Context, key string) (entry shardmap.Entry, ok bool) {
	entry, err := g.shards.Refresh(ctx, key, g.now())
	if err != nil {
		g.log.Warn("shard count not read", "key", g.names.Shown(key), "error", err)
	}
	return entry, err == nil
}

// grow changes the count of an entry, and returns its version then.
func (g *grower) grow(ctx context.Context, seen shardmap.Entry, count int) (version int64) {
	key, why := g.names.Shown(seen.Key), fmt.Sprintf("half of its writes or more are refused on %d write shards", seen.History.Newest())
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
