package rebuild

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
)

// entityTraces finds and deletes the items of an entity. The aggregator subtracts the deleted events from the rollups.
type entityTraces struct {
	plainTraces

	mu   sync.Mutex
	days days // of the deleted events
}

// streamAge is how long a stream keeps records.
const streamAge = 24 * time.Hour

// days has sets of partition keys of events, by the start of their day.
type days map[time.Time]map[string]bool

// add adds a day, and a partition key if it is not "".
func (d days) add(day time.Time, pk string) {
	if d[day] == nil {
		d[day] = map[string]bool{}
	}
	if pk != "" {
		d[day][pk] = true
	}
}

func (e *entityTraces) classify(k itemKey) (what Trace, ok bool) {
	_, ok = e.plainTraces.classify(k)
	if _, _, err := schema.ParseEventSortKey(k.sk); ok && k.sk != schema.ProbeSK && err == nil {
		return Events, true
	}
	return Others, ok
}

func (e *entityTraces) afterDelete(_ context.Context, what Trace, k itemKey, _ item) error {
	if what != Events {
		return nil
	}
	parsed, err := schema.ParseKey(k.pk)
	if err != nil {
		return err
	}
	day, err := schema.EventBucket.Start(parsed.Bucket)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.days.add(day.UTC(), k.pk)
	return nil
}

// cleanSummaries cleans the rollups of all days, after the aggregator has folded all earlier writes of events. It also
// cleans days of which this run deleted no event: an earlier run that was killed may have.
func (e *entityTraces) cleanSummaries(ctx context.Context) error {
	for _, recent := range []time.Time{e.o.Now(), e.o.Now().Add(-streamAge)} {
		e.days.add(recent.UTC().Truncate(shard.Day.Width()), "")
	}
	if err := e.awaitFolds(ctx, e.days); err != nil || e.needsRerun {
		return err
	}
	stored, err := e.daysWithRollups(ctx)
	if err != nil {
		return err
	}
	maps.DeleteFunc(stored, func(day time.Time, _ map[string]bool) bool { return e.days[day] != nil })
	if err := e.awaitFolds(ctx, stored); err != nil || e.needsRerun {
		return err
	}
	maps.Copy(stored, e.days)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxCleanedDays)
	for day := range stored {
		group.Go(func() error { return e.cleanDay(ctx, day) })
	}
	return group.Wait()
}

// awaitFolds waits until the aggregator has folded all earlier writes of these days' events. If that can't be proved, it
// adds a text to the report's Left.
func (e *entityTraces) awaitFolds(ctx context.Context, list days) error {
	if len(list) == 0 {
		return nil
	}
	entry, err := e.entryOf(ctx, e.base)
	if err != nil {
		return err
	}
	var places []parts.EventPlace
	for day, pks := range list {
		for n := range entry.Most() {
			pks[eventPartition(parts.Bucket{Entity: e.base.Name, Start: day}, n)] = true
		}
		for pk := range pks {
			places = append(places, parts.EventPlace{PK: pk, Width: shard.Day, Start: day})
		}
	}
	missing, err := e.prover.ProveAllEvents(ctx, places)
	if missing != "" {
		e.reportLeft("its rollups may lack folds of the deletes: %s", missing)
	}
	return err
}

// daysWithRollups returns the days that have rollups, without partition keys.
func (e *entityTraces) daysWithRollups(ctx context.Context) (days, error) {
	found := days{}
	var mu sync.Mutex
	err := e.checker.Stored(e.base)(ctx, func(t schema.Target) error {
		mu.Lock()
		defer mu.Unlock()
		found.add(t.Hour.UTC().Truncate(shard.Day.Width()), "")
		return nil
	})
	return found, err
}
