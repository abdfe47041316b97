package hotkeys

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Shards has the methods of the shard map that this package uses. A [*shardmap.Changer] implements it.
type Shards interface {
	Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error)
	Entries(ctx context.Context) ([]shardmap.Entry, error)
	Partitions(table string) int
	GrowFrom(ctx context.Context, seen shardmap.Entry, count int, note shardmap.Note, now time.Time) (shardmap.Entry, error)
	ShrinkFrom(ctx context.Context, seen shardmap.Entry, count int, note shardmap.Note, now time.Time) (shardmap.Entry, error)
	NotePartitions(ctx context.Context, table string, n int, now time.Time) error
	StoreSnapshot(ctx context.Context, now time.Time) error
}

// changer changes shard counts as decided, if [Settings.Control] allows it.
type changer struct {
	settings Settings
	shards   Shards    // nil for a table without write shards
	logged   lastTexts // logged decisions by key
}

const (
	// decideTime bounds how long decisions may delay a batch. The next batch decides on the remaining keys.
	decideTime = 5 * time.Second

	// reportTime is the delay after a window's end until each stream shard that gets further writes has reported it. A
	// quiet stream shard reports with its next record, or up to two minutes later, so its counts may be missing.
	reportTime = 3 * time.Second
)

// controller raises the shard counts of hot keys.
type controller struct {
	*changer
	heat *table
}

// grow raises the shard counts of keys that are hot in the windows. Its failures are logged and counted, and never fail
// the batch.
func (c *controller) grow(ctx context.Context, j *journal, windows []window) {
	if c.settings.Control == growth.Off || j.source.Own == "" {
		return // a table without write shards only gets advice
	}
	ctx, cancel := context.WithTimeout(ctx, decideTime)
	defer cancel()
	recent := sync.OnceValue(func() []*loads { return c.recent(ctx, j, windows[0].item.Window) })
	for i := range windows {
		local := windows[i].loads()
		for _, s := range local.suspects(c.settings.hotRate()) {
			if ctx.Err() != nil {
				j.WarnContext(ctx, "no time to decide on all hot keys")
				j.countEvents("ShardCountChangeFailures", 1)
				return
			}
			c.growKey(ctx, j, s, local, recent)
		}
	}
}

// growKey decides whether a suspect grows, by what this stream shard counted in a window (local) and, if needed, by the
// recent windows of all stream shards. It makes the change, or logs the decision.
func (c *controller) growKey(ctx context.Context, j *journal, s suspect, local *loads, recent func() []*loads) {
	now, key := j.now(), s.base.String()
	entry, err := c.shards.Lookup(ctx, key, now)
	if err != nil {
		j.WarnContext(ctx, "shard count unknown", "key", c.settings.MetricNames.Shown(key), "error", err)
		j.countEvents("ShardCountChangeFailures", 1)
		return
	}
	entry.Key = key
	policy := c.settings.policy()
	policy.Partitions = c.shards.Partitions(j.source.Own)
	d, decisive, needsRecent := policy.decide(s, local, nil, entry, now)
	if needsRecent {
		d, decisive, _ = policy.decide(s, local, recent(), entry, now)
	}
	if d.Action == None {
		return
	}
	onlyLogs := d.Action == Advise || c.settings.Control != growth.Act
	if onlyLogs && !c.logged.changed("hot "+s.name, decisive.start.String()) {
		return // an earlier batch has logged the decision for this window
	}
	c.execute(ctx, j, entry, d)
}

// recent returns the loads on all stream shards in the recent windows of this length, newest first. It leaves out windows
// that are too old to act on, and returns nil if the items can't be read. A key whose counts are held is not listed, and may
// have up to [Settings.quietRates].
func (c *controller) recent(ctx context.Context, j *journal, length time.Duration) (recent []*loads) {
	now := j.now()
	for w, err := range c.heat.WithoutHeld(ctx, now.Add(-3*length), now.Add(length)) {
		if err != nil {
			j.WarnContext(ctx, "other stream shards unknown", "error", err)
			return nil
		}
		c.heat.logUnreadable(ctx, j, w.Unreadable)
		items := itemsByLength(tableOf(&j.source), w)[length]
		if len(items) == 0 {
			continue
		}
		l := loadsOf(items, heat.Merge(items))
		l.unreadable = len(w.Unreadable) > 0
		if c.settings.holds() {
			tableRate, indexRate := c.settings.quietRates()
			l.rest, l.indexRest = max(l.rest, tableRate), max(l.indexRest, indexRate)
		}
		recent = append(recent, l)
	}
	slices.Reverse(recent)
	return recent
}

// execute makes the decided change, and reports whether it did. It only logs an Advise, and only
// logs and counts any change if [Settings.Control] is not act.
func (c *changer) execute(ctx context.Context, j *journal, seen shardmap.Entry, d Decision) (changed bool) {
	log := j.With("key", c.settings.MetricNames.Shown(seen.Key), "from", d.From, "to", d.To, "why", d.Why)
	if d.Action == Advise {
		log.WarnContext(ctx, "hot key not grown")
		return false
	}
	if c.settings.Control != growth.Act {
		if d.Action == Shrink && !c.logged.changed("would shrink "+seen.Key, strconv.Itoa(d.To)) {
			return false // an earlier run of the task has logged the decision
		}
		log.InfoContext(ctx, "shard count would change", "action", string(d.Action))
		j.countEvents("ShardCountChangesObserved", 1)
		return false
	}
	// The change is conditional on the entry that was seen. So a change that ingest made meanwhile is neither repeated
	// nor undone.
	change := c.shards.GrowFrom
	if d.Action == Shrink {
		change = c.shards.ShrinkFrom
	}
	note := shardmap.Note{By: "hotkeys", Why: d.Why}
	if base, err := schema.ParseBaseKey(seen.Key); err == nil {
		note.Kind = string(base.Type)
	}
	entry, err := change(ctx, seen, d.To, note, j.now())
	switch {
	case err == nil:
		log.InfoContext(ctx, "shard count changed", "action", string(d.Action), "effective", entry.Effective())
		j.countEvents("ShardCountChanges", 1)
	case errors.Is(err, shardmap.ErrNoChange), errors.Is(err, shardmap.ErrPinned):
		log.InfoContext(ctx, "shard count left alone", "action", string(d.Action), "error", err)
	default:
		log.ErrorContext(ctx, "shard count not changed", "action", string(d.Action), "error", err)
		j.countEvents("ShardCountChangeFailures", 1)
	}
	return err == nil
}
