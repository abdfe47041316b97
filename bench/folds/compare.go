package folds

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/pkg/shard/counters"
)

// compare holds each counter's summary against the sum of its write shards, and
// that against the books; then the events; and wants that nothing was given up.
func (s *system) compare(ctx context.Context) error {
	strong := counters.NewReader(s.DB, s.Names.Items, s.view())
	summaries := counters.NewSummaries(s.DB, s.Names.Items, s.Names.Rollups, s.view())
	for i := range s.o.Counters {
		name := counterName(i)
		sum, err := strong.Sum(ctx, name)
		if err != nil {
			return err
		}
		read, err := summaries.Read(ctx, []string{name}, time.Now())
		if err != nil {
			return err
		}
		if want := s.books.sums[name]; sum.Value.Cmp(big.NewInt(want)) != 0 {
			s.differ("counter %s: its write shards have %s, want %d", name, sum.Value, want)
		}
		if read[0].Value.Cmp(sum.Value) != 0 {
			s.differ("counter %s: its summary has %s, its write shards have %s", name, read[0].Value, sum.Value)
		}
		s.count("counters compared", 1)
	}
	if err := s.compareEvents(ctx); err != nil {
		return err
	}
	for _, d := range s.aggregator {
		text, err := os.ReadFile(s.FailureFile(d.name))
		if err == nil {
			s.differ("a mapping gave up records: %.2000s", text) // what can't be folded is the aggregator's to deal with
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("reading the failures of a mapping: %w", err)
		}
	}
	return nil
}

// compareEvents holds the events in the table against the books, their rollups against
// what the table's events come to, and the failures against the poison.
func (s *system) compareEvents(ctx context.Context) error {
	want, err := s.eventsFound(ctx)
	if err != nil {
		return err
	}
	have, failures := rollups{}, map[string]bool{}
	err = s.Scan(ctx, s.Names.Rollups, func(it item) error {
		pk, sk := dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK)
		if strings.HasPrefix(pk, schema.FailurePrefix) {
			failures[sk] = true
		}
		if !strings.HasPrefix(pk, "E#") {
			return nil
		}
		entity, _, err := schema.ParseRollupPartition(pk)
		if err != nil {
			return err
		}
		bucket, start, _, err := schema.ParseRollupSortKey(sk)
		if err != nil {
			return err
		}
		part, err := measures.Parse(it)
		have.of(schema.EventTarget(entity, bucket, start)).merge(part)
		return err
	})
	if err != nil {
		return err
	}
	s.count(rollupsCompared, len(want))
	for target := range want {
		have.of(target)
	}
	for target, got := range have {
		if has, wants := fmt.Sprint(*got), fmt.Sprint(*want.of(target)); has != wants {
			s.differ("rollup %s has %s; want %s", target, has, wants)
		}
	}
	s.comparePoison(failures)
	return nil
}

// eventsFound looks for each event in the table, once, and adds them up. Only the data
// that an event was put with first is rolled up, so for those put again with other data
// that counts, unless all was rebuilt.
func (s *system) eventsFound(ctx context.Context) (want rollups, err error) {
	found, bad, want := map[identity]int{}, map[identity]bool{}, rollups{}
	for _, p := range s.poison {
		bad[p.event] = true
	}
	err = s.Scan(ctx, s.Names.Events, func(it item) error {
		id, ok := identityOf(dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK))
		if !ok || bad[id] {
			return nil
		}
		e := s.books.events[id]
		if found[id]++; found[id] > 1 || e == nil {
			s.differ("event %v is in the table, and nobody put it, or once more", id)
			return nil
		}
		if !reflect.DeepEqual(dataOf(it), e.last) {
			s.differ("event %v has %v; want %v", id, dataOf(it), e.last)
		}
		sum, data := want.of(s.target(id)), e.last
		if e.restated {
			s.count("events: put again with other data", 1)
		}
		if e.restated && !s.o.Gap {
			data, sum.Restated = e.first, true
		}
		sum.add(id.entity, data)
		return nil
	})
	s.count(eventsFound, len(found))
	for id := range s.books.events {
		if found[id] == 0 {
			s.differ("event %v is not in the table", id)
		}
	}
	return want, err
}
