package erase

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/rollup/audit"
	"github.com/hotshard/hotshard/internal/schema"
)

// maxDays bounds the days whose rollups are emptied at a time.
const maxDays = 4

// retract empties the rollups of all days that have some, and of those on which events
// were deleted. Then the notes of those days go.
func (t *task) retract(ctx context.Context, writeShards int) error {
	days, err := t.days(ctx)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxDays)
	for day, notes := range days {
		group.Go(func() error { return t.retractDay(ctx, day, notes, writeShards) })
	}
	return group.Wait()
}

func (t *task) retractDay(ctx context.Context, day string, notes []key, writeShards int) error {
	start, err := schema.EventBucket.Start(day, 0)
	if err != nil {
		return err
	}
	r, err := t.auditor.Retract(ctx, t.base.Name, start, t.most(notes, writeShards))
	if err != nil {
		return fmt.Errorf("the rollups of %s: %w", day, err)
	}
	t.retracted(day, r)
	if r.Left != "" {
		return nil
	}
	for _, k := range notes {
		if _, err := t.remove(ctx, t.o.Names.Items, k.pk, k.sk); err != nil {
			return err
		}
	}
	return nil
}

// retracted reports what became of a day's rollups.
func (t *task) retracted(day string, r audit.Retracted) {
	t.deleted(Summaries, r.Emptied)
	if r.Kept > 0 {
		t.kept("%d events of %s, written meanwhile", r.Kept, day)
	}
	if r.Left != "" {
		t.left("the rollups of %s: %s", day, r.Left)
	}
	for _, fault := range r.Faults {
		t.mend("%s: hotshard audit says what to do", fault)
	}
	for _, b := range r.Mixed {
		t.mend("the rollup of %s may count deleted events beside those that were written meanwhile: once that %s is over, hotshard rebuild --fewer --type entity --name %q --from %s --to %s",
			b.Width.Label(b.Start, 0), b.Width, b.Entity, b.Start.Format(time.RFC3339), b.End().Format(time.RFC3339))
	}
}

// most is on how many write shards events of a day were: as the shard map says, and
// as the notes do.
func (t *task) most(notes []key, writeShards int) int {
	for _, k := range notes {
		if parsed, err := schema.ParseKey(k.pk); err == nil {
			writeShards = max(writeShards, parsed.Shard+1)
		}
	}
	return writeShards
}

// days lists days, with their notes.
func (t *task) days(ctx context.Context) (map[string][]key, error) {
	days := map[string][]key{}
	for k := range t.notes {
		parsed, err := schema.ParseKey(k.pk)
		if err != nil {
			return nil, err
		}
		days[parsed.Bucket] = append(days[parsed.Bucket], k)
	}
	var mu sync.Mutex
	err := t.scanRollups(ctx, func(it item) {
		day, holds, ok := t.partOf(it)
		mu.Lock()
		defer mu.Unlock()
		if _, known := days[day]; ok && holds && !known {
			days[day] = nil
		}
	})
	return days, err
}

// partOf tells the day of a part of an event rollup, and whether it has more than
// its sequence number; ok is false for other items.
func (t *task) partOf(it item) (day string, holds, ok bool) {
	entity, _, err := schema.ParseRollupPartition(attribute.TextOf(it, schema.PK))
	if err != nil || entity != t.base.Name {
		return "", false, false
	}
	_, start, _, err := schema.ParseRollupSortKey(attribute.TextOf(it, schema.SK))
	if err != nil {
		return "", false, false
	}
	events, known := attribute.WholeOf(it, schema.RollupEvents)
	holds = !known || events != 0 || it[schema.RollupSkipped] != nil || it[schema.RollupRestated] != nil
	return start.UTC().Format(time.DateOnly), holds, true
}

// scanRollups calls seen, from several goroutines, for each item of the rollups table,
// with what tells what it is.
func (t *task) scanRollups(ctx context.Context, seen func(item)) error {
	return t.scanner.Table(ctx, t.o.Names.Rollups, "pk, sk, events, skipped, restated", func(page []item) error {
		t.o.Progress(len(page))
		for _, it := range page {
			seen(it)
		}
		return nil
	})
}

// failures forgets the failures of the key's summaries, since what they lack is gone;
// if something is kept, that may be what the newest lack.
func (t *task) failures(ctx context.Context) error {
	newer := 0
	err := t.eachFailure(ctx, func(k key, last time.Time) error {
		if len(t.report.Kept) > 0 && !last.Before(t.begun) {
			newer++
			return nil
		}
		old, err := t.remove(ctx, t.o.Names.Rollups, k.pk, k.sk)
		if len(old) > 0 {
			t.deleted(Failures, 1)
		}
		return err
	})
	if newer > 0 {
		t.kept("%d failures that were noted meanwhile: hotshard replay", newer)
	}
	return err
}

func (t *task) eachFailure(ctx context.Context, do func(k key, last time.Time) error) error {
	for _, pk := range schema.FailurePartitions() {
		err := t.query(ctx, t.o.Names.Rollups, pk, t.base.String()+"#", func(list []item) error {
			for _, it := range list {
				k := key{pk, attribute.TextOf(it, schema.SK)}
				target, err := schema.ParseTarget(k.sk)
				if err != nil || target.Base != t.base {
					continue
				}
				last, _ := attribute.TimeOf(it, schema.FailureLast)
				if err := do(k, last); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// countSummaries counts what a dry run finds beside items.
func (t *task) countSummaries(ctx context.Context) error {
	entry, err := t.changer.Read(ctx, t.base.String())
	if err != nil {
		return err
	}
	if entry.Max > 0 {
		t.deleted(ShardCounts, 1)
	}
	if err := t.eachFailure(ctx, func(key, time.Time) error { t.deleted(Failures, 1); return nil }); err != nil {
		return err
	}
	switch t.base.Type {
	case schema.Sessions:
		return nil
	case schema.Board:
		there, err := t.hasSettings(ctx)
		if err != nil {
			return err
		}
		if there {
			t.deleted(Settings, 1)
		}
	}
	return t.scanRollups(ctx, func(it item) {
		if t.isSummary(it) {
			t.deleted(Summaries, 1)
		}
	})
}

// isSummary tells whether an item of the rollups table is a summary of the key's, or a
// part of one.
func (t *task) isSummary(it item) bool {
	if t.base.Type == schema.Entity {
		_, holds, ok := t.partOf(it)
		return ok && holds
	}
	pk := attribute.TextOf(it, schema.PK)
	target, err := schema.ParseTarget(pk)
	return err == nil && target.Base == t.base && strings.HasPrefix(pk, t.base.String())
}
