package audit

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// Range bounds the audited buckets of events: those that start at From or later, and end at To or
// earlier. A zero time is no bound. Counters have no time, and of boards all periods that are found
// are audited.
type Range struct{ From, To time.Time }

func (r Range) holds(b parts.Bucket) bool {
	return !b.Start.Before(r.From) && (r.To.IsZero() || !b.End().After(r.To))
}

// All returns the source of all counters, all boards' periods, and all buckets in a range that have
// items or summaries. It scans the tables consistently, and keeps about 60 bytes for each target.
func (a *Auditor) All(r Range) Source {
	return func(ctx context.Context, emit func(schema.Target) error) error {
		d := &discovery{r: r, emit: emit, seen: map[[16]byte]struct{}{}}
		group, ctx := errgroup.WithContext(ctx)
		finders := map[string]func(pk, sk string) (schema.Target, bool){a.o.Names.Rollups: a.ruled}
		for _, table := range kind.Tables() {
			finders[a.o.Names.Table(table)] = a.o.Rules.Target
		}
		for table, targetOf := range finders {
			group.Go(func() error {
				return a.scanner.Table(ctx, table, "pk, sk", func(page []item) error { return d.emitPage(page, targetOf) })
			})
		}
		return group.Wait()
	}
}

// ruled returns the target that an item of the rollups table sums up. It skips buckets that the
// rules would not make.
func (a *Auditor) ruled(pk, sk string) (t schema.Target, ok bool) {
	t, ok = fold.TargetOf(pk, sk)
	return t, ok && (t.Bucket == "" || a.events.hasRule(t))
}

// discovery finds targets, and emits each once.
type discovery struct {
	r    Range
	emit func(schema.Target) error

	mu   sync.Mutex
	seen map[[16]byte]struct{} // digests of targets
}

// emitPage emits the targets that the items of a page belong to.
func (d *discovery) emitPage(page []item, targetOf func(pk, sk string) (schema.Target, bool)) error {
	for _, it := range page {
		t, ok := targetOf(dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK))
		t.Partial = 0 // the whole counter is audited
		if !ok || t.Bucket != "" && !d.r.holds(parts.BucketFor(t)) || !d.first(t) {
			continue
		}
		if err := d.emit(t); err != nil {
			return err
		}
	}
	return nil
}

// first reports whether a target has not been seen before.
func (d *discovery) first(t schema.Target) bool {
	sum := sha256.Sum256([]byte(t.String()))
	digest := [16]byte(sum[:16])
	d.mu.Lock()
	defer d.mu.Unlock()
	_, seen := d.seen[digest]
	d.seen[digest] = struct{}{}
	return !seen
}
