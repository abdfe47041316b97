package erase

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/marks"
	"github.com/hotshard/hotshard/internal/rebuild"
)

// entity has an entity's traces. Before it deletes the first event of a partition, it puts a stream
// marker there, which shows later runs that the rollups of that day must still be emptied.
type entity struct {
	plain

	noting sync.Mutex
	noted  map[string]bool // partition keys with such a marker
	notes  map[key]bool    // those markers
}

func (e *entity) classify(k key) (what What, ok bool) {
	_, ok = e.plain.classify(k)
	if _, _, err := schema.ParseEventSortKey(k.sk); ok && k.sk != schema.ProbeSK && err == nil {
		return Events, true
	}
	return Others, ok
}

func (e *entity) dropping(ctx context.Context, _ What, k key) (spare bool, err error) {
	e.noting.Lock()
	defer e.noting.Unlock() // the partition's other events wait for the marker
	if marks.WasLeft(k.sk) {
		e.noted[k.pk], e.notes[k] = true, true
		return true, nil
	}
	if e.noted[k.pk] {
		return false, nil
	}
	parsed, err := schema.ParseKey(k.pk)
	if err != nil {
		return false, err
	}
	sk, err := e.marker.Leave(ctx, k.pk, parsed.Bucket)
	if err != nil {
		return false, err
	}
	e.noted[k.pk], e.notes[key{k.pk, sk}] = true, true
	return false, nil
}

// maxDays bounds the days that are settled at a time.
const maxDays = 4

// summaries returns the entity's rollups, after the aggregator has folded all events of the days that have
// stream markers.
func (e *entity) summaries(ctx context.Context) (rebuild.Source, error) {
	days := map[string][]string{}
	for k := range e.notes {
		parsed, err := schema.ParseKey(k.pk)
		if err != nil {
			return nil, err
		}
		days[parsed.Bucket] = append(days[parsed.Bucket], k.pk)
	}
	group, settling := errgroup.WithContext(ctx)
	group.SetLimit(maxDays)
	for day, partitions := range days {
		group.Go(func() error { return e.settleRollup(settling, day, partitions) })
	}
	return e.auditor.Stored(e.base), group.Wait()
}

func (e *entity) settleRollup(ctx context.Context, day string, partitions []string) error {
	start, err := schema.EventBucket.Start(day, 0)
	if err != nil {
		return err
	}
	missing, err := e.auditor.SettleDay(ctx, e.base.Name, start, partitions)
	if missing != "" {
		e.left("the rollups of %s: %s", day, missing)
	}
	return err
}

// last deletes the stream markers of the days whose rollups are emptied.
func (e *entity) last(ctx context.Context) error {
	for k := range e.notes {
		if _, err := e.remove(ctx, e.o.Names.Of(e.base.Type), k); err != nil {
			return err
		}
	}
	return nil
}
