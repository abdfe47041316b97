package folds

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/schema"
)

// compareEvents holds the events in the table against the books, and their rollups
// against what the table's events come to. The caller holds the books' lock.
func (r *system) compareEvents(ctx context.Context) error {
	found, want, err := r.eventsFound(ctx)
	if err != nil {
		return err
	}
	b := r.books
	for id, e := range b.events {
		if found[id] != 1 {
			b.differ("event %v is %d times in the table", id, found[id])
		}
		if e.restated {
			b.count(eventsRestated, 1)
		}
	}
	b.count(eventItems, len(found))
	b.count(buckets, len(want))
	have, failures := rollups{}, map[string]bool{}
	err = r.Scan(ctx, r.Names.Rollups, func(it item) error {
		if pk := rig.Text(it[schema.PK]); strings.HasPrefix(pk, schema.FailurePrefix) {
			failures[rig.Text(it[schema.SK])] = true
		}
		return have.add(it)
	})
	if err != nil {
		return err
	}
	r.comparePoison(failures)
	b.compareRollups(have, want)
	return nil
}

func (b *books) compareRollups(have, want rollups) {
	for id, sum := range want {
		if got := have.of(id).String(); got != sum.String() {
			b.differ("rollup %v has %s; want %s", id, got, sum)
		}
	}
	for id, sum := range have {
		if want[id] == nil && sum.String() != new(sums).String() {
			b.differ("rollup %v has %s, and there are no such events", id, sum)
		}
	}
}

// eventsFound counts the events in the table, and adds them up. Only the data that
// an event was put with first is rolled up, so for those put again with other data
// that counts, unless all was rebuilt. The caller holds the books' lock.
func (r *system) eventsFound(ctx context.Context) (found map[identity]int, want rollups, err error) {
	found, want = map[identity]int{}, rollups{}
	bad := map[identity]bool{}
	for _, p := range r.poison {
		bad[p.event] = true
	}
	err = r.Scan(ctx, r.Names.Items, func(it item) error {
		id, ok := identityOf(it)
		if !ok || bad[id] {
			return nil
		}
		if found[id]++; found[id] == 1 {
			r.eventFound(id, it["data"], want)
		}
		return nil
	})
	return found, want, err
}

func (r *system) eventFound(id identity, data types.AttributeValue, want rollups) {
	e := r.books.events[id]
	if e == nil {
		r.books.differ("event %v is in the table, and nobody put it", id)
		return
	}
	if text := canonical(data); text != e.last {
		r.books.differ("event %v has %s; want %s", id, text, e.last)
	}
	numbers := numbersOf(data)
	sum := want.of(id.bucket())
	if e.restated && !r.o.Gap {
		numbers, sum.restated = e.first, true
	}
	sum.add(id.bucket().wanted(numbers))
}
