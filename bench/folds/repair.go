package folds

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/base/decimal"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/virtualstream"
)

// gap is a stretch of the stream that no mapping gets, as if all of them had been
// away for longer than a stream keeps its records. The zero gap is none.
type gap struct {
	mu       sync.Mutex
	from, to map[*stream]string // sequence numbers: what lies beyond from, up to to; nil for none
	lost     map[string]bool    // targets
}

// furthest is where readers have come to in the engine's streams, each of which has one
// stream shard. A gap begins and ends there, so that it is the same for readers that lag.
func (s *system) furthest() map[*stream]string {
	found := map[*stream]string{}
	for _, of := range s.streams {
		found[of] = "0"
		for _, read := range of.virtual.Load().Plan().Read {
			found[of] = read
		}
	}
	return found
}

// set changes the gap.
func (g *gap) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

// lose takes the records in the gap out of a batch, and counts them. It notes the targets
// that are wrong for good then: the rollups of new events. A counter is right again when
// more of the same write shard comes.
func (g *gap) lose(d *delivery, b *batch) (records int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.from == nil {
		return 0
	}
	from, to := g.from[d.of], g.to[d.of]
	var left []json.RawMessage
	for i, text := range b.records {
		r := b.record(i)
		if !after(r.Dynamodb.SequenceNumber, from) || to != "" && after(r.Dynamodb.SequenceNumber, to) {
			left = append(left, text)
			continue
		}
		records++
		id, ok := identityOf(r.Dynamodb.Keys[schema.PK].S, r.Dynamodb.Keys[schema.SK].S)
		if ok && r.EventName == "INSERT" {
			g.lost[d.target(id)] = true
		}
	}
	b.records = left
	return records
}

// after reports whether sequence number a comes after b.
func after(a, b string) bool { return decimal.CompareWhole(a, b) > 0 }

// targets lists the targets that have lost something.
func (g *gap) targets() (list []schema.Target, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, text := range slices.Sorted(maps.Keys(g.lost)) {
		target, err := schema.ParseTarget(text)
		if err != nil {
			return nil, err
		}
		list = append(list, target)
	}
	return list, nil
}

// When, in parts of the load's time, a gap begins and how long it is at least; and
// how many rollups it has to harm.
const (
	gapBegins  = 0.2
	gapLength  = 0.15
	gapTargets = 5
)

// outage makes a gap in the stream, and rebuilds what lost something by it, while the
// load and the faults go on. Stream shards and parts rarely change then: each change may
// cost an audit another round.
func (s *system) outage(ctx context.Context) error {
	rig.Sleep(ctx, s.o.part(gapBegins))
	s.gap.set(func() { s.gap.from, s.gap.lost = s.furthest(), map[string]bool{} })
	rig.Sleep(ctx, s.o.part(gapLength))
	lost, err := s.gap.targets()
	for err == nil && ctx.Err() == nil && !s.settling.Load() && len(lost) < gapTargets {
		rig.Sleep(ctx, 10*time.Millisecond)
		lost, err = s.gap.targets()
	}
	s.gap.set(func() { s.gap.to = s.furthest() })
	s.inject(gapped)
	if err != nil {
		return err
	}
	s.auditing.Store(true)
	defer s.auditing.Store(false)
	return s.rebuildLost(ctx, lost)
}

// rebuildLost rebuilds targets until all are right, or the load has ended. None may pass
// for right at first. One whose repair has lost its answer is right the next time.
func (s *system) rebuildLost(ctx context.Context, lost []schema.Target) error {
	auditor, err := s.auditor(rebuild.Options{Repair: true})
	for first := true; err == nil && len(lost) > 0; first = false {
		var left []schema.Target
		for some := range slices.Chunk(lost, s.auditors()) {
			if s.settling.Load() {
				return nil
			}
			_, err = auditor.Run(ctx, rebuild.List(some...), func(target schema.Target, result rebuild.Result) {
				if len(result.Findings) > 0 { // under load an audit may not come so far as to call it wrong
					s.count(auditsFound, 1)
				} else if first {
					s.differ("rollup %s of %v lost events, and the audit takes it for right", target.Base.Name, target.Start)
				}
				if !result.Right() {
					left = append(left, target)
				} else {
					s.count(rebuiltInLoad, 1)
				}
			})
			if err != nil {
				return err
			}
		}
		lost = left
	}
	return err
}

// repair mends the poison, replays the failures and rebuilds all that is wrong, when
// the load has ended and the mappings still run. Then nothing may be wrong.
func (s *system) repair(ctx context.Context) error {
	s.dice.calm()
	if err := s.mendPoison(ctx); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	auditor, err := s.auditor(rebuild.Options{Repair: true, Eager: true})
	if err != nil {
		return err
	}
	if err := s.replay(ctx, auditor); err != nil {
		return err
	}
	report, err := auditor.Run(ctx, auditor.All(rebuild.Range{}), nil)
	if err != nil {
		return err
	}
	s.count(rebuiltAtRest, report.Repaired)
	s.wantRight(report, report.Right+report.Repaired, "rebuild")
	if auditor, err = s.auditor(rebuild.Options{}); err != nil {
		return err
	}
	if report, err = auditor.Run(ctx, auditor.All(rebuild.Range{}), nil); err != nil {
		return err
	}
	s.wantRight(report, report.Right, "audit")
	return nil
}

func (s *system) wantRight(report *rebuild.Report, right int, what string) {
	if right != report.Targets || report.Targets == 0 {
		s.differ("after the %s %d of %d targets are right: %+v", what, right, report.Targets, report.Findings[:min(3, len(report.Findings))])
	}
}

// replays is how often what is left is replayed: a poison record that a mapping
// still delivers, on a slow machine, is a new failure, which stays.
const replays = 5

// replay mends what the failure destination has.
func (s *system) replay(ctx context.Context, auditor *rebuild.Checker) error {
	for range replays {
		failures, err := auditor.Failures(ctx)
		if err != nil {
			return err
		}
		_, left, err := auditor.Replay(ctx, failures, nil, nil)
		if err != nil {
			return err
		}
		s.count("poison: failures replayed", len(failures)-len(left))
		if len(left) == 0 {
			return nil
		}
		if err := s.settle(ctx); err != nil {
			return err
		}
	}
	s.differ("failures are left after the last replay")
	return nil
}

// mendPoison gives events data that can be read, and removes other poison.
func (s *system) mendPoison(ctx context.Context) error {
	for _, p := range s.poison {
		var err error
		if mended := item(p.key); p.event == (identity{}) {
			_, err = s.DB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(s.tableOf(p)), Key: p.key})
		} else {
			mended["data"] = &types.AttributeValueMemberM{Value: item{"t": &types.AttributeValueMemberN{Value: "7.25"}}}
			_, err = s.DB.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(s.tableOf(p)), Item: mended})
			s.books.put(ctx, mended)
		}
		if err != nil {
			return fmt.Errorf("mending poison: %w", err)
		}
	}
	s.mended, s.poison = s.poison, nil
	return nil
}

// auditors is how many targets are audited at a time. Where items are spread by
// their hash each takes hundreds of marks.
func (s *system) auditors() int {
	if s.o.Spread == virtualstream.ByItem {
		return 2
	}
	return 8
}

// eventRetention is ingest's default.
const eventRetention = 720 * time.Hour

// auditor makes one whose writes fail now and then.
func (s *system) auditor(o rebuild.Options) (*rebuild.Checker, error) {
	o.Names, o.Rules, o.EventRetention = s.Names, s.rules, eventRetention
	o.Wait, o.Poll, o.Concurrency = time.Minute, 50*time.Millisecond, s.auditors()
	_, client := s.newProcess(ofAudits)
	return rebuild.New(o, client), nil
}
