package erase

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/audit"
	"github.com/hotshard/hotshard/internal/fold/marks"
)

// entity has an entity's traces. Before it deletes the first event of a partition, it puts a stream
// marker there, which shows later runs that the rollups of that day must still be emptied.
type entity struct {
	plain

	noting sync.Mutex
	noted  map[string]bool // partition keys with such a marker
	notes  map[key]bool    // those markers
}

func (e *entity) match(k key) (what What, ok bool) {
	_, ok = e.plain.match(k)
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

// maxDays bounds the days whose rollups are emptied at a time.
const maxDays = 4

// summaries empties the rollups of each day that has rollups or deleted events. Once a day is
// done, it deletes the day's stream markers.
func (e *entity) summaries(ctx context.Context, writeShards int) error {
	days := map[string][]key{}
	for k := range e.notes {
		parsed, err := schema.ParseKey(k.pk)
		if err != nil {
			return err
		}
		days[parsed.Bucket] = append(days[parsed.Bucket], k)
		writeShards = max(writeShards, parsed.Shard+1)
	}
	err := e.eachSummary(ctx, func(t schema.Target) {
		day := t.Start.Format(time.DateOnly)
		days[day] = append([]key{}, days[day]...)
	})
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxDays)
	for day, notes := range days {
		group.Go(func() error { return e.retract(ctx, day, notes, writeShards) })
	}
	return group.Wait()
}

func (e *entity) retract(ctx context.Context, day string, notes []key, writeShards int) error {
	start, err := schema.EventBucket.Start(day, 0)
	if err != nil {
		return err
	}
	r, err := e.auditor.Retract(ctx, e.base.Name, start, writeShards)
	if err != nil {
		return fmt.Errorf("the rollups of %s: %w", day, err)
	}
	e.retracted(day, r)
	if r.Left != "" {
		return nil
	}
	for _, k := range notes {
		if _, err := e.remove(ctx, e.o.Names.Of(e.base.Type), k); err != nil {
			return err
		}
	}
	return nil
}

// retracted adds the outcome of a day's rollups to the report.
func (e *entity) retracted(day string, r audit.Retracted) {
	e.deleted(Summaries, r.Emptied)
	if r.Kept > 0 {
		e.kept("%d events of %s, written meanwhile", r.Kept, day)
	}
	if r.Left != "" {
		e.left("the rollups of %s: %s", day, r.Left)
	}
	for _, fault := range r.Faults {
		e.leftTo("%s: hotshard audit says what to do", fault)
	}
	for _, b := range r.Mixed {
		e.leftTo("the rollup of %s may count deleted events beside those that were written meanwhile: once that %s is over, hotshard rebuild --fewer --type entity --name %q --from %s --to %s",
			b.Label(), b.Width, b.Entity, b.Start.Format(time.RFC3339), b.End().Format(time.RFC3339))
	}
}
