package folds

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/compact"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Bounds of what happens to the system as a whole in one run.
const (
	calmTime   = 150 * time.Millisecond // between two upheavals, at most
	maxStreams = 9                      // open stream shards of a table: each costs a read of the whole stream
	maxPoison  = 8
	rare       = 10 // one in so many
	fewCount   = 8  // write shards
	maxCount   = 90 // write shards: two partials
)

// upheave changes the system until ctx ends.
func (s *system) upheave(ctx context.Context, kill chan<- struct{}) error {
	for {
		rig.Sleep(ctx, time.Duration(s.dice.intN(int(calmTime))))
		if ctx.Err() != nil {
			return nil
		}
		if err := s.change(ctx, s.dice.intN(100), kill); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// change makes the change of a number below 100. Once the load is over, only the stream
// and its readers change, and they rarely do while an audit waits for the stream.
func (s *system) change(ctx context.Context, n int, kill chan<- struct{}) error {
	switch {
	case n < 35 && s.auditing.Load() && s.dice.intN(rare) > 0:
		return nil
	case n < 10:
		return s.endStreamShard(split)
	case n < 25:
		return s.endStreamShard(rotated)
	case n < 35:
		select {
		case kill <- struct{}{}:
		case <-ctx.Done():
		}
		return nil
	case s.settling.Load():
		return nil
	case n < 60:
		return s.changeCount(ctx)
	case n < 68:
		return s.putPoison(ctx)
	}
	return s.remove(ctx)
}

// endStreamShard splits or rotates an open stream shard.
func (s *system) endStreamShard(how fault) error {
	virtual := s.streams[s.dice.intN(len(s.streams))].virtual.Load()
	live := virtual.Live()
	if len(live) == 0 || len(virtual.Plan().Shards) > 500 {
		return nil
	}
	id := live[s.dice.intN(len(live))]
	end := virtual.Rotate
	if how == split && len(live) < maxStreams {
		end = virtual.Split
	} else {
		how = rotated
	}
	err := end(id)
	if err == nil {
		s.inject(how)
	}
	return err
}

// someCounter draws one of the first, which are written most.
func (s *system) someCounter() string { return counterName(s.dice.intN(min(20, s.o.Counters))) }

// changeCount gives a counter or an entity another shard count, up or down.
func (s *system) changeCount(ctx context.Context) error {
	base := schema.BaseKey{Type: kind.Counter, Name: s.someCounter()}
	count := 1 + s.dice.intN(fewCount)
	switch s.dice.intN(6) {
	case 0:
		count = 1 + s.dice.intN(maxCount)
	case 1, 2:
		base = schema.BaseKey{Type: kind.Event, Name: entityName(s.dice.intN(s.o.Entities))}
	}
	_, err := s.changer.Pin(ctx, base.String(), count, shardmap.Note{By: "harness", Why: "on purpose", Kind: string(base.Type)}, time.Now())
	if errors.Is(err, shard.ErrUnavailable) {
		return nil // a change that takes over a second is abandoned, or was made
	}
	if err == nil {
		s.inject(counted)
	}
	return err
}

// removeAge is how old a write shard is at least that is removed. A rev begins with
// the microsecond of the call that makes its item: one under way may still make it
// again with a rev from before, and what was folded of a younger one may be newer.
const removeAge = 2 * time.Second

// remove deletes a write shard of a counter, if it is there. What it had is then
// no part of the counter any more, whatever is written later.
func (s *system) remove(ctx context.Context) error {
	counter := s.someCounter()
	pk, sk := schema.CounterKey(counter, s.dice.intN(1+s.dice.intN(fewCount)))
	before := strconv.FormatInt(time.Now().Add(-removeAge).UnixMicro(), 10)
	whole := context.WithoutCancel(ctx) // one that is cut off may be gone, uncounted
	out, err := s.DB.DeleteItem(whole, &dynamodb.DeleteItemInput{
		TableName: &s.Names.Items, Key: dynamo.Key(pk, sk), ReturnValues: types.ReturnValueAllOld,
		ConditionExpression:       aws.String("rev < :before"),
		ExpressionAttributeValues: item{":before": &types.AttributeValueMemberN{Value: before}},
	})
	if _, absent := errors.AsType[*types.ConditionalCheckFailedException](err); absent {
		return nil // or too young
	}
	if err != nil {
		return fmt.Errorf("removing %q: %w", pk, err)
	}
	had, err := dynamo.Integer(out.Attributes, "value")
	s.inject(removed)
	s.books.removed(counter, had)
	return err
}

// poison is an item whose record can't be folded.
type poison struct {
	key    item
	target string   // that has to be in the failure destination
	event  identity // zero for a counter's
}

// tableOf returns the name of the table with a poison item.
func (s *system) tableOf(p poison) string {
	if p.event == (identity{}) {
		return s.Names.Items
	}
	return s.Names.Events
}

// putPoison puts an item that looks like a counter's or an event's and can't be
// folded, among those of the same target that can.
func (s *system) putPoison(ctx context.Context) error {
	if len(s.poison) >= maxPoison {
		return nil
	}
	n := maxCount + 10 + len(s.poison) // a write shard that no counter comes to, in the second partial
	name := s.someCounter()
	p := poison{key: dynamo.Key(schema.CounterKey(name, n)), target: schema.SummaryKey(name, n)}
	attribute, value := "rev", types.AttributeValue(dynamo.Number(1)) // without a value
	if s.dice.intN(2) == 0 && s.o.Events > 0 {
		at := s.began.UTC().Add(-time.Duration(s.dice.intN(int(time.Hour)))).Truncate(time.Millisecond)
		id := identity{entityName(s.dice.intN(min(6, s.o.Entities))), schema.EventSortKey(at, fmt.Sprint("poison", n))}
		pk := schema.Key{Base: schema.BaseKey{Type: kind.Event, Name: id.entity}, Bucket: at.Format(time.DateOnly)}.String()
		p = poison{dynamo.Key(pk, id.sk), s.target(id), id}
		attribute, value = "data", dynamo.String("poison")
	}
	it := item{attribute: value, schema.PK: p.key[schema.PK], schema.SK: p.key[schema.SK]}
	whole := context.WithoutCancel(ctx) // one that is cut off may be there, uncounted
	if _, err := s.DB.PutItem(whole, &dynamodb.PutItemInput{TableName: aws.String(s.tableOf(p)), Item: it}); err != nil {
		return fmt.Errorf("putting a poison record: %w", err)
	}
	s.poison = append(s.poison, p)
	s.inject(poisoned)
	return nil
}

// comparePoison wants the targets of all poison in the failure destination, and no
// others but those of mended poison: its records may have come again after the replay.
func (s *system) comparePoison(failures map[string]bool) {
	known := map[string]bool{}
	for _, p := range s.mended {
		known[p.target] = true
	}
	for _, p := range s.poison {
		known[p.target] = true
		if !failures[p.target] {
			s.differ("target %s had poison and is not in the failure destination", p.target)
		}
	}
	for target := range failures {
		if !known[target] {
			s.differ("target %s is in the failure destination and had no poison", target)
		}
	}
}

const (
	compactTime  = 3 * time.Second // between two compactions, at most
	compactRest  = 49 * time.Hour  // after which parts of rollups are at rest
	compactRound = 25 * time.Hour  // after which the table is gone through again
)

// compacting has a clock that is days ahead, and further each time, merge the parts
// of event rollups until ctx ends: nothing of that needs parts to be at rest. The
// tombstones of counters do need the time, and are left. Each run is of a process that
// may die in it. What fails is left to the next one.
func (s *system) compacting(ctx context.Context) error {
	for ahead := compactRest; ; ahead += compactRound {
		rig.Sleep(ctx, time.Duration(s.dice.intN(int(compactTime))))
		if ctx.Err() != nil {
			return nil
		}
		if s.auditing.Load() && s.dice.intN(rare) > 0 {
			continue
		}
		p, client := s.newProcess(ofCompaction)
		options := compact.Options{RollupsTable: s.Names.Rollups, ReadUnits: 1_000_000, WriteUnits: 1_000_000}
		compactor := compact.New(options, client, rig.Silent, func() time.Time { return time.Now().Add(ahead) })
		within, done := p.within(ctx)
		answer, _ := compactor.Run(within)
		done()
		s.count("events: parts of rollups that were merged", answer.Merged)
		s.inject(compacted)
	}
}
