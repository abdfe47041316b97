package audit

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
)

// Range bounds the buckets of events that are audited: those that start at From or
// after it, and end at To or before it. A zero time is no bound. Counters have no
// time, and of boards all that is found is audited.
type Range struct{ From, To time.Time }

func (r Range) holds(b parts.Bucket) bool {
	return !b.Start.Before(r.From) && (r.To.IsZero() || !b.End().After(r.To))
}

// All is the source of all counters, of all boards' periods, and of all buckets in a
// range: those that have items, and those that have summaries. It scans both tables,
// consistently, and remembers about 60 bytes for each target.
func (a *Auditor) All(r Range) Source {
	return func(ctx context.Context, emit func(schema.Target) error) error {
		d := &discovery{r: r, emit: emit, seen: map[[16]byte]struct{}{}}
		group, ctx := errgroup.WithContext(ctx)
		for table, targetOf := range map[string]func(pk, sk string) (schema.Target, bool){
			a.o.Names.Items: a.o.Rules.Target, a.o.Names.Rollups: a.ruled,
		} {
			group.Go(func() error {
				return a.scanner.Table(ctx, table, "pk, sk", func(page []item) error { return d.look(page, targetOf) })
			})
		}
		return group.Wait()
	}
}

// ruled returns what an item of the rollups table is a summary of. It leaves alone buckets
// that the rules would not make.
func (a *Auditor) ruled(pk, sk string) (t schema.Target, ok bool) {
	t, ok = parts.TargetOf(pk, sk)
	return t, ok && (t.Base.Type != schema.Entity || a.events.hasRule(t))
}

// discovery finds targets, and hands on each once.
type discovery struct {
	r    Range
	emit func(schema.Target) error

	mu   sync.Mutex
	seen map[[16]byte]struct{} // digests of targets
}

// look hands on the targets that a page has something of.
func (d *discovery) look(page []item, targetOf func(pk, sk string) (schema.Target, bool)) error {
	for _, it := range page {
		t, ok := targetOf(dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK))
		t.Partial = 0 // the whole counter is audited
		if !ok || t.Base.Type == schema.Entity && !d.r.holds(parts.BucketFor(t)) || !d.first(t) {
			continue
		}
		if err := d.emit(t); err != nil {
			return err
		}
	}
	return nil
}

// first tells whether a target has not been seen before.
func (d *discovery) first(t schema.Target) bool {
	sum := sha256.Sum256([]byte(t.String()))
	digest := [16]byte(sum[:16])
	d.mu.Lock()
	defer d.mu.Unlock()
	_, seen := d.seen[digest]
	d.seen[digest] = struct{}{}
	return !seen
}
