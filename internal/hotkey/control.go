package hotkey

import (
	"context"
	"errors"
	"time"

	"github.com/hotshard/hotshard/internal/metrics"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// Shards is what the controller needs of the shard map; a [*ddb.MapChanger] has it.
type Shards interface {
	Lookup(ctx context.Context, key string, now time.Time) (ddb.Entry, error)
	Entries(ctx context.Context, now time.Time) ([]ddb.Entry, error)
	Grow(ctx context.Context, key string, count int, note ddb.Note, now time.Time) (ddb.Entry, error)
	Shrink(ctx context.Context, key string, count int, note ddb.Note, now time.Time) (ddb.Entry, error)
}

// answerTime bounds how long decisions may keep a batch waiting. What there was no
// time for is decided on with the next.
const answerTime = 5 * time.Second

// answer decides on the keys that the batch's windows show to be hot, each once a
// window, and has them grow. Nothing that goes wrong here fails the batch.
func (r *run) answer(ctx context.Context, t *tally, streamShard string, ended bool) {
	if r.settings.Control == Off || !r.source.Own {
		return // without write shards to its keys, a table only gets advice
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for _, w := range t.all() {
		running := w == t.own && !ended
		for _, s := range w.suspects(r.settings, running) {
			if ctx.Err() != nil {
				r.deps.Log.WarnContext(ctx, "no time to decide on all hot keys")
				r.events("ShardCountChangeFailures", 1)
				return
			}
			if !w.marks.answered[s.name] {
				r.decide(ctx, w, s, streamShard)
			}
		}
	}
}

// decide asks the policy about one key. A key with several write shards may have
// some on other stream shards: then those are looked at too.
func (r *run) decide(ctx context.Context, w *window, s *suspect, streamShard string) {
	now := r.deps.Now()
	key := s.Base.String()
	entry, err := r.deps.Shards.Lookup(ctx, key, now)
	if err != nil {
		r.deps.Log.WarnContext(ctx, "shard count unknown", "key", r.shown(key), "error", err)
		r.events("ShardCountChangeFailures", 1)
		return
	}
	d := r.settings.policy().Answer(s.Evidence, entry, now)
	switch {
	case s.Base.Type == schema.Board:
		d = r.decideBoard(ctx, w, s, entry, streamShard, now)
	case d.Action != None && d.From > 1:
		r.lookElsewhere(ctx, w, s, entry, streamShard)
		d = r.settings.policy().Answer(s.Evidence, entry, now)
	}
	if d.Action == None {
		return
	}
	noted := w.marks.answer(s.name)
	if !noted && (d.Action != Grow || r.settings.Control != Act) {
		return // only a change that is made is an answer without a note
	}
	if _, err := r.execute(ctx, key, d); err != nil && noted {
		w.marks.reopen(s.name)
	}
}

// execute makes a decided change, as far as the control setting allows. An error is
// one that another try may not meet.
func (r *run) execute(ctx context.Context, key string, d Decision) (changed bool, err error) {
	log := r.deps.Log.With("key", r.shown(key), "from", d.From, "to", d.To, "why", d.Why)
	if d.Action == Advise {
		log.WarnContext(ctx, "hot key not grown")
		return false, nil
	}
	if r.settings.Control != Act {
		log.InfoContext(ctx, "shard count would change", "action", string(d.Action))
		r.events("ShardCountChangesObserved", 1)
		return false, nil
	}
	now := r.deps.Now() // the change's own time counts, not that of what led to it
	change := r.deps.Shards.Grow
	if d.Action == Shrink {
		change = r.deps.Shards.Shrink
	}
	entry, err := change(ctx, key, d.To, ddb.Note{By: "hotkeys", Why: d.Why}, now)
	switch {
	case err == nil:
		log.InfoContext(ctx, "shard count changed", "action", string(d.Action), "effective", entry.Effective())
		r.events("ShardCountChanges", 1)
		return true, nil
	case errors.Is(err, ddb.ErrNoChange), errors.Is(err, ddb.ErrPinned):
		log.InfoContext(ctx, "shard count left alone", "action", string(d.Action), "error", err)
		err = nil
	default:
		log.ErrorContext(ctx, "shard count not changed", "action", string(d.Action), "error", err)
		r.events("ShardCountChangeFailures", 1)
	}
	return false, err
}

// events counts things that happened to the function itself.
func (r *run) events(name string, n int) {
	r.data = append(r.data, metrics.Datum{
		Name: name, Value: float64(n), Unit: metrics.Count, Time: r.deps.Now(), Dimensions: tableDimension(r.source.Table),
	})
}
