package rebuild

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// Range bounds the checked buckets of events: they start at From or later, and end at To or earlier. A zero time is no
// bound. [Checker.All] has counters and boards' periods whatever the range.
type Range struct{ From, To time.Time }

func (r Range) contains(b parts.Bucket) bool {
	return !b.Start.Before(r.From) && (r.To.IsZero() || !b.End().After(r.To))
}

// All returns the source of all counters that have or had several write shards, all boards' periods, and all buckets in a
// range that have items or summaries, if Options.Rollups is set. It also has counters with one write shard whose item can't be read. The
// source scans the tables consistently, and keeps about 60 bytes for each target.
func (a *Checker) All(bounds Range) Source {
	return func(ctx context.Context, emit func(schema.Target) error) error {
		d := &discovery{r: bounds, emit: emit, seen: map[[16]byte]struct{}{}}
		group, ctx := errgroup.WithContext(ctx)
		scan := func(table, attributes string, targetOf func(it item, pk, sk string) (schema.Target, bool)) {
			group.Go(func() error {
				return a.scanner.Table(ctx, table, attributes, func(page []item) error { return d.emitPage(page, targetOf) })
			})
		}
		for _, table := range schema.StreamTables() {
			scan(a.o.Names.Table(table), "pk, sk, rev, value, "+schema.CounterMaxShards, a.itemTarget)
		}
		scan(a.o.Names.Rollups, "pk, sk", func(_ item, pk, sk string) (schema.Target, bool) {
			t, ok := fold.TargetOf(pk, sk)
			return t, ok && a.isChecked(t)
		})
		return group.Wait()
	}
}

// Stored returns the source of a key's targets that have summaries, and of the targets in also. The source scans the
// rollups table, and skips emptied fragments of event rollups.
func (a *Checker) Stored(base schema.BaseKey, also ...schema.Target) Source {
	return func(ctx context.Context, emit func(schema.Target) error) error {
		d := &discovery{emit: emit, seen: map[[16]byte]struct{}{}}
		if err := List(also...)(ctx, d.emitOnce); err != nil {
			return err
		}
		return a.scanner.Table(ctx, a.o.Names.Rollups, "pk, sk, "+schema.RollupSequence, func(page []item) error {
			return d.emitPage(page, func(it item, pk, sk string) (schema.Target, bool) {
				t, ok := fold.TargetOf(pk, sk)
				emptied := !t.Hour.IsZero() && strings.HasSuffix(dynamo.Text(it, schema.RollupSequence), schema.EmptiedSuffix)
				return t, ok && t.Base == base && !emptied
			})
		})
	}
}

// isChecked reports whether a target is no event rollup, or these are on.
func (a *Checker) isChecked(t schema.Target) bool { return t.Hour.IsZero() || a.o.Rollups }

// itemTarget returns the target that an item folds into. For an unreadable write shard 0, which is
// never folded, it returns the counter.
func (a *Checker) itemTarget(it item, pk, sk string) (schema.Target, bool) {
	if t, ok := fold.Target(pk, sk); ok {
		return t, a.isChecked(t)
	}
	key, err := schema.ParseKey(pk)
	if err != nil || schema.TraitsOf(key.Base.Type).Summary != schema.PartialSummary || key.Shard > 0 || sk != schema.SoleSK {
		return schema.Target{}, false
	}
	s := source{}
	s.setItem(it, pk)
	return schema.Target{Base: key.Base}, s.fault != nil
}

// discovery finds targets, and emits each once.
type discovery struct {
	r    Range
	emit func(schema.Target) error

	mu   sync.Mutex
	seen map[[16]byte]struct{} // digests of targets
}

// emitPage emits the targets that the items of a page belong to.
func (d *discovery) emitPage(page []item, targetOf func(it item, pk, sk string) (schema.Target, bool)) error {
	for _, it := range page {
		t, ok := targetOf(it, dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK))
		t.Partial = 0 // the whole counter is checked
		isOutsideRange := !t.Hour.IsZero() && !d.r.contains(parts.BucketFor(t))
		if !ok || isOutsideRange {
			continue
		}
		if err := d.emitOnce(t); err != nil {
			return err
		}
	}
	return nil
}

// emitOnce emits a target that has not been seen before.
func (d *discovery) emitOnce(target schema.Target) error {
	sum := sha256.Sum256([]byte(target.String()))
	digest := [16]byte(sum[:16])
	d.mu.Lock()
	_, seen := d.seen[digest]
	d.seen[digest] = struct{}{}
	d.mu.Unlock()
	if seen {
		return nil
	}
	return d.emit(target)
}
