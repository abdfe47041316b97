package audit

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
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
		d := &discovery{a: a, r: r, emit: emit, seen: map[[16]byte]struct{}{}}
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return d.scan(ctx, a.o.Names.Items, d.ofItem) })
		group.Go(func() error { return d.scan(ctx, a.o.Names.Rollups, d.ofSummary) })
		return group.Wait()
	}
}

// discovery finds targets, and hands on each once.
type discovery struct {
	a    *Auditor
	r    Range
	emit func(schema.Target) error

	mu   sync.Mutex
	seen map[[16]byte]struct{} // digests of targets
}

// scan looks at the keys of a table.
func (d *discovery) scan(ctx context.Context, table string, targetOf func(pk, sk string) (schema.Target, bool)) error {
	return d.a.scanner.Table(ctx, table, "pk, sk", func(page []item) error {
		for _, it := range page {
			t, ok := targetOf(attribute.TextOf(it, schema.PK), attribute.TextOf(it, schema.SK))
			if !ok || !d.first(t) {
				continue
			}
			if err := d.emit(t); err != nil {
				return err
			}
		}
		return nil
	})
}

// first tells whether a target has not been seen before.
func (d *discovery) first(t schema.Target) bool {
	name := t.Base.String()
	switch t.Base.Type {
	case schema.Entity:
		name = bucketOf(t).String()
	case schema.Board:
		name = schema.BoardRollupKey(t.Base.Name, t.Period)
	}
	sum := sha256.Sum256([]byte(name))
	digest := [16]byte(sum[:16])
	d.mu.Lock()
	defer d.mu.Unlock()
	_, seen := d.seen[digest]
	d.seen[digest] = struct{}{}
	return !seen
}

// ofItem returns what an item folds into.
func (d *discovery) ofItem(pk, sk string) (schema.Target, bool) {
	t, ok := d.a.targetOf(pk, sk)
	return t, ok && d.wants(t)
}

// ofSummary returns what a summary, or a part of one, is of. Buckets that the rules
// would not make are left alone.
func (d *discovery) ofSummary(pk, sk string) (schema.Target, bool) {
	if t, err := schema.ParseTarget(pk); err == nil && t.Base.Type == schema.Counter {
		return schema.Target{Base: t.Base}, sk == schema.SoleSK
	} else if err == nil && t.Base.Type == schema.Board {
		return t, sk == schema.TopSK || strings.HasPrefix(sk, schema.HistogramPrefix)
	}
	entity, _, err := schema.ParseRollupPartition(pk)
	if err != nil {
		return schema.Target{}, false
	}
	width, start, _, err := schema.ParseRollupSortKey(sk)
	t := schema.Target{Base: schema.BaseKey{Type: schema.Entity, Name: entity}, Bucket: width, Start: start}
	return t, err == nil && d.a.hasRule(t) && d.wants(t)
}

func (d *discovery) wants(t schema.Target) bool {
	return t.Base.Type != schema.Entity || d.r.holds(bucketOf(t))
}

func bucketOf(t schema.Target) parts.Bucket {
	return parts.Bucket{Entity: t.Base.Name, Width: t.Bucket, Start: t.Start.UTC()}
}

// targetOf returns what an item with these keys folds into, by the rules; ok is
// false for what is not folded, such as an event on another day than its time.
func (a *Auditor) targetOf(pk, sk string) (t schema.Target, ok bool) {
	if name, period, _, entry := schema.ParseEntryKey(pk, sk); entry {
		return boardTarget(name, period), true
	}
	key, err := schema.ParseKey(pk)
	if err != nil {
		return t, false
	}
	switch key.Base.Type {
	case schema.Counter:
		return schema.Target{Base: key.Base}, sk == schema.SoleSK
	case schema.Entity:
		at, _, err := schema.ParseEventSortKey(sk)
		width, ruled := a.o.Rules.Bucket(key.Base.Name)
		if err != nil || !ruled || schema.EventBucket.Label(at, 0) != key.Bucket {
			return t, false
		}
		return schema.Target{Base: key.Base, Bucket: width, Start: at.Truncate(width.Width())}, true
	}
	return t, false
}

// maxBuckets bounds the buckets of one entity that are asked for.
const maxBuckets = 100_000

// Entity lists the buckets of an entity in a range. Without a From it begins with
// the oldest that is not refused, without a To it ends with the one that holds now.
func (a *Auditor) Entity(entity string, r Range) ([]schema.Target, error) {
	width, ok := a.o.Rules.Bucket(entity)
	if !ok {
		return nil, fmt.Errorf("no rule rolls up the events of %q", entity)
	}
	if r.From.IsZero() && a.o.EventRetention == 0 {
		return nil, fmt.Errorf("events are kept for ever: say from when on those of %q are audited", entity)
	}
	if r.From.IsZero() {
		r.From = a.oldest().Truncate(oneDay)
	}
	if r.To.IsZero() {
		r.To = a.o.Now().UTC().Truncate(width.Width()).Add(width.Width())
	}
	step := width.Width()
	start := r.From.UTC().Truncate(step)
	if start.Before(r.From) {
		start = start.Add(step)
	}
	if n := r.To.Sub(start) / step; n > maxBuckets {
		return nil, fmt.Errorf("there are %d %ss from %s to %s: at most %d can be audited at a time", n, width, r.From.Format(time.DateOnly), r.To.Format(time.DateOnly), maxBuckets)
	}
	var list []schema.Target
	for ; !start.Add(step).After(r.To); start = start.Add(step) {
		list = append(list, schema.Target{Base: schema.BaseKey{Type: schema.Entity, Name: entity}, Bucket: width, Start: start})
	}
	return list, nil
}
