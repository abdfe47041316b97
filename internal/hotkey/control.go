package hotkey

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/plan"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/metrics"
	"github.com/hotshard/hotshard/internal/schema"
)

// Shards is what the controller needs of the shard map; a [*shardmap.Changer] has it.
type Shards interface {
	Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error)
	Entries(ctx context.Context, now time.Time) ([]shardmap.Entry, error)
	Partitions(now time.Time) int
	GrowFrom(ctx context.Context, seen shardmap.Entry, count int, note shardmap.Note, now time.Time) (shardmap.Entry, error)
	ShrinkFrom(ctx context.Context, seen shardmap.Entry, count int, note shardmap.Note, now time.Time) (shardmap.Entry, error)
	NotePartitions(ctx context.Context, n int, now time.Time) error
}

// answerTime bounds how long decisions may keep a batch waiting. What there was no
// time for is decided on with the next.
const answerTime = 5 * time.Second

// act decides on the keys that windows show to be hot, and has them grow. Nothing that
// goes wrong here fails the batch.
func (r *run) act(ctx context.Context, reports []Report) {
	if r.settings.Control == Off || !r.source.Own {
		return // without write shards to its keys, a table only gets advice
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for i := range reports {
		own := loadsOf([]heat.Item{reports[i].Item})
		own.running = reports[i].running
		for _, s := range own.suspects(r.settings.hotRate()) {
			if ctx.Err() != nil {
				r.deps.Log.WarnContext(ctx, "no time to decide on all hot keys")
				r.events("ShardCountChangeFailures", 1)
				return
			}
			r.answer(ctx, own, s)
		}
	}
}

// answer decides on one key by what was counted here and, when its window has ended, by
// what all stream shards have reported of late: the first of these that calls for something
// is answered.
func (r *run) answer(ctx context.Context, own *loads, s suspect) {
	now := r.deps.Now()
	key := s.base.String()
	entry, err := r.deps.Shards.Lookup(ctx, key, now)
	if err != nil {
		r.deps.Log.WarnContext(ctx, "shard count unknown", "key", r.shown(key), "error", err)
		r.events("ShardCountChangeFailures", 1)
		return
	}
	entry.Key = key
	policy := r.settings.policy()
	policy.Partitions = r.deps.Shards.Partitions(now)
	window, d := own, policy.Answer(own.evidence(s, true), entry, now)
	if d.Action == None && !own.running && s.spread(entry) {
		for _, window = range r.recent(ctx, own.end.Sub(own.start)) {
			if d = policy.Answer(window.evidence(s, !window.heard(now)), entry, now); d.Action != None {
				break
			}
		}
	}
	silent := d.Action == Advise || r.settings.Control != Act
	if d.Action == None || silent && !r.once.first("hot "+s.name, window.start.String()) {
		return
	}
	r.execute(ctx, entry, d)
}

// spread tells whether one stream shard alone may not see how hot a key is. Of write
// shards that are chosen at random each is like the others.
func (s suspect) spread(entry shardmap.Entry) bool {
	return s.base.Type == schema.Board || entry.History.Newest() > 1 && heat.Share(s.base.Type) != plan.RandomShare
}

// execute makes a decided change, as far as the control setting allows.
func (r *run) execute(ctx context.Context, seen shardmap.Entry, d Decision) (changed bool) {
	log := r.deps.Log.With("key", r.shown(seen.Key), "from", d.From, "to", d.To, "why", d.Why)
	if d.Action == Advise {
		log.WarnContext(ctx, "hot key not grown")
		return false
	}
	if r.settings.Control != Act {
		if d.Action == Shrink && !r.once.first("would shrink "+seen.Key, strconv.Itoa(d.To)) {
			return false // said by an earlier run of the task
		}
		log.InfoContext(ctx, "shard count would change", "action", string(d.Action))
		r.events("ShardCountChangesObserved", 1)
		return false
	}
	entry, err := r.change(ctx, seen, d)
	switch {
	case err == nil:
		log.InfoContext(ctx, "shard count changed", "action", string(d.Action), "effective", entry.Effective())
		r.events("ShardCountChanges", 1)
	case errors.Is(err, shardmap.ErrNoChange), errors.Is(err, shardmap.ErrPinned):
		log.InfoContext(ctx, "shard count left alone", "action", string(d.Action), "error", err)
	default:
		log.ErrorContext(ctx, "shard count not changed", "action", string(d.Action), "error", err)
		r.events("ShardCountChangeFailures", 1)
	}
	return err == nil
}

// change changes a count at the time of the change itself, which is not that of what led
// to it. It goes by what was seen, so that what ingest answered meanwhile is neither
// answered twice nor undone.
func (r *run) change(ctx context.Context, seen shardmap.Entry, d Decision) (shardmap.Entry, error) {
	note := shardmap.Note{By: "hotkeys", Why: d.Why}
	if d.Action == Shrink {
		return r.deps.Shards.ShrinkFrom(ctx, seen, d.To, note, r.deps.Now())
	}
	return r.deps.Shards.GrowFrom(ctx, seen, d.To, note, r.deps.Now())
}

// maxSaid bounds of how many keys a process remembers what it said.
const maxSaid = 10_000

// once remembers what was said of keys, so that nothing is said again and again.
type once struct {
	mu   sync.Mutex
	said map[string]string
}

// first tells whether this is another text than the last one about the subject.
func (o *once) first(subject, text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.said[subject] == text {
		return false
	}
	if o.said == nil || len(o.said) >= maxSaid {
		o.said = make(map[string]string)
	}
	o.said[subject] = text
	return true
}

// events counts things that happened to the function itself.
func (r *run) events(name string, n int) {
	r.data = append(r.data, metrics.Datum{
		Name: name, Value: float64(n), Unit: metrics.Count, Time: r.deps.Now(), Dimensions: tableDimension(r.source.Table),
	})
}
