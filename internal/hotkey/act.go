package hotkey

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/growth"
	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Shards is what the controller needs of the shard map; a [*shardmap.Changer] has it.
type Shards interface {
	Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error)
	Entries(ctx context.Context) ([]shardmap.Entry, error)
	Partitions() int
	GrowFrom(ctx context.Context, seen shardmap.Entry, count int, note shardmap.Note, now time.Time) (shardmap.Entry, error)
	ShrinkFrom(ctx context.Context, seen shardmap.Entry, count int, note shardmap.Note, now time.Time) (shardmap.Entry, error)
	NotePartitions(ctx context.Context, n int, now time.Time) error
}

// changer makes the changes of shard counts that were decided on, as far as its setting
// allows.
type changer struct {
	settings Settings
	shards   Shards // nil for a table that is not hotshard's own
	said     once   // of keys
}

const (
	// answerTime bounds how long decisions may keep a batch waiting. What there was no
	// time for is decided on with the next.
	answerTime = 5 * time.Second

	// reportTime is how long after a window's end, at most, all stream shards have reported
	// it, as a rule.
	reportTime = 3 * time.Second
)

// controller has the keys grow that are hot.
type controller struct {
	*changer
	heat *table
}

// act decides on the keys that windows show to be hot, and has them grow. Nothing that
// goes wrong here fails the batch.
func (c *controller) act(ctx context.Context, j *journal, ended, running []Report) {
	if c.settings.Control == growth.Off || !j.source.Own {
		return // without write shards to its keys, a table only gets advice
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	recent := sync.OnceValue(func() []*loads { return c.recent(ctx, j, ended) })
	for i, report := range slices.Concat(ended, running) {
		own := loadsOf([]heat.Item{report.Item})
		own.running = i >= len(ended)
		for _, s := range own.suspects(c.settings.hotRate()) {
			if ctx.Err() != nil {
				j.WarnContext(ctx, "no time to decide on all hot keys")
				j.events("ShardCountChangeFailures", 1)
				return
			}
			c.answer(ctx, j, s, own, recent)
		}
	}
}

// answer decides on one key by what was counted here and, when its window has ended, by
// what all stream shards have reported of late: the first of these that calls for something
// is answered.
func (c *controller) answer(ctx context.Context, j *journal, s suspect, own *loads, recent func() []*loads) {
	now, key := j.now(), s.base.String()
	entry, err := c.shards.Lookup(ctx, key, now)
	if err != nil {
		j.WarnContext(ctx, "shard count unknown", "key", c.settings.shown(key), "error", err)
		j.events("ShardCountChangeFailures", 1)
		return
	}
	entry.Key = key
	policy := c.settings.policy()
	policy.Partitions = c.shards.Partitions()
	window, d := own, policy.Answer(own.evidence(s, true), entry, now)
	if d.Action == None && !own.running && s.spread(entry) {
		for _, window = range recent() {
			if d = policy.Answer(window.evidence(s, !window.heard(now)), entry, now); d.Action != None {
				break
			}
		}
	}
	silent := d.Action == Advise || c.settings.Control != growth.Act
	if d.Action == None || silent && !c.said.first("hot "+s.name, window.start.String()) {
		return
	}
	c.execute(ctx, j, entry, d)
}

// spread tells whether one stream shard alone may not see how hot a key is. Of write
// shards that are chosen at random each is like the others.
func (s suspect) spread(entry shardmap.Entry) bool {
	return s.base.Type.Indexed() || entry.History.Newest() > 1 && growth.PlacementOf(s.base.Type) != growth.Random
}

// recent returns what all stream shards have reported of the windows, as long as one that
// ended here, that are not too old for an answer, the newest first. When it can't be read,
// nothing is known.
func (c *controller) recent(ctx context.Context, j *journal, ended []Report) (recent []*loads) {
	now, length := j.now(), ended[0].Item.Window
	for window, err := range c.heat.All(ctx, now.Add(-3*length), now.Add(length)) {
		if err != nil {
			j.WarnContext(ctx, "other stream shards unknown", "error", err)
			return nil
		}
		c.heat.unreadable(ctx, j, window.Unreadable)
		if items := own(window)[length]; len(items) > 0 {
			l := loadsOf(items)
			l.lost = len(window.Unreadable) > 0
			recent = append(recent, l)
		}
	}
	slices.Reverse(recent)
	return recent
}

// execute makes a decided change, as far as the control setting allows.
func (c *changer) execute(ctx context.Context, j *journal, seen shardmap.Entry, d Decision) (changed bool) {
	log := j.With("key", c.settings.shown(seen.Key), "from", d.From, "to", d.To, "why", d.Why)
	if d.Action == Advise {
		log.WarnContext(ctx, "hot key not grown")
		return false
	}
	if c.settings.Control != growth.Act {
		if d.Action == Shrink && !c.said.first("would shrink "+seen.Key, strconv.Itoa(d.To)) {
			return false // said by an earlier run of the task
		}
		log.InfoContext(ctx, "shard count would change", "action", string(d.Action))
		j.events("ShardCountChangesObserved", 1)
		return false
	}
	// It goes by what was seen, so that what ingest answered meanwhile is neither answered
	// twice nor undone. The time is that of the change itself, not that of what led to it.
	change := c.shards.GrowFrom
	if d.Action == Shrink {
		change = c.shards.ShrinkFrom
	}
	entry, err := change(ctx, seen, d.To, shardmap.Note{By: "hotkeys", Why: d.Why}, j.now())
	switch {
	case err == nil:
		log.InfoContext(ctx, "shard count changed", "action", string(d.Action), "effective", entry.Effective())
		j.events("ShardCountChanges", 1)
	case errors.Is(err, shardmap.ErrNoChange), errors.Is(err, shardmap.ErrPinned):
		log.InfoContext(ctx, "shard count left alone", "action", string(d.Action), "error", err)
	default:
		log.ErrorContext(ctx, "shard count not changed", "action", string(d.Action), "error", err)
		j.events("ShardCountChangeFailures", 1)
	}
	return err == nil
}
