package hotkey

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/growth"
	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

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
