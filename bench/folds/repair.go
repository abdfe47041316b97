package folds

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/rollup/audit"
	"github.com/hotshard/hotshard/internal/schema"
)

// When, in parts of the load's time, a gap begins and how long it is at least; and
// how many rollups it has to harm.
const (
	gapBegins  = 0.2
	gapLength  = 0.15
	gapTargets = 5
)

// auditors is how many targets are audited at a time. Where items are spread by
// their hash each takes hundreds of marks.
func (o options) auditors() int {
	if o.Spread == eventsource.ByItem {
		return 2
	}
	return 8
}

// outage makes a gap in the stream, audits some of what lost something by it, and
// rebuilds all of that, while the load and the faults go on. Stream shards and
// parts change seldom then: each change may cost an audit another round.
func (r *system) outage(ctx context.Context) error {
	rig.Sleep(ctx, scale(r.o.load(), gapBegins))
	r.gap.begin(r.virtual.Load().Plan())
	rig.Sleep(ctx, scale(r.o.load(), gapLength))
	for ctx.Err() == nil && !r.settling.Load() && len(r.gap.targets()) < gapTargets {
		rig.Sleep(ctx, 10*time.Millisecond)
	}
	r.gap.end(r.virtual.Load().Plan())
	r.dice.count(gapped)
	r.auditing.Store(true)
	defer r.auditing.Store(false)
	lost := r.gap.targets()
	if err := r.findLost(ctx, lost[:min(r.o.auditors(), len(lost))]); err != nil {
		return err
	}
	return r.rebuildLost(ctx, lost)
}

// findLost wants an audit not to take targets for right that lost something.
func (r *system) findLost(ctx context.Context, lost []schema.Target) error {
	auditor, err := r.auditor(audit.Options{})
	if err != nil {
		return err
	}
	_, err = auditor.Run(ctx, audit.List(lost...), func(target schema.Target, result audit.Result) {
		r.wantFound(target, result, true)
	})
	return err
}

// wantFound wants a target that lost events not to pass for right.
func (r *system) wantFound(target schema.Target, result audit.Result, asLost bool) {
	switch {
	case len(result.Findings) == 0 && asLost:
		r.books.found("rollup %s of %v lost events, and the audit takes it for right", target.Base.Name, target.Start)
	case len(result.Findings) > 0: // under load an audit may not come so far as to call it wrong
		r.count(found, 1)
	}
}

// rebuildLost rebuilds targets until all are right, or the load has ended. One whose
// repair has lost its answer is right the next time.
func (r *system) rebuildLost(ctx context.Context, lost []schema.Target) error {
	auditor, err := r.auditor(audit.Options{Repair: true})
	if err != nil {
		return err
	}
	for first := true; len(lost) > 0; first = false {
		var left []schema.Target
		for some := range slices.Chunk(lost, r.o.auditors()) {
			if r.settling.Load() {
				return nil
			}
			_, err := auditor.Run(ctx, audit.List(some...), func(target schema.Target, result audit.Result) {
				r.wantFound(target, result, first)
				if !result.Right() {
					left = append(left, target)
				} else {
					r.count(rebuilt, 1)
				}
			})
			if err != nil {
				return err
			}
		}
		lost = left
	}
	return nil
}

// repair mends the poison, replays the failures and rebuilds all that is wrong, when
// the load has ended and the mappings still run. Then nothing may be wrong.
func (r *system) repair(ctx context.Context) error {
	r.dice.calm()
	if err := r.mendPoison(ctx); err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	auditor, err := r.auditor(audit.Options{Repair: true, Eager: true})
	if err != nil {
		return err
	}
	if err := r.replay(ctx, auditor); err != nil {
		return err
	}
	report, err := auditor.Run(ctx, auditor.All(audit.Range{}), nil)
	if err != nil {
		return err
	}
	r.count(rebuiltAtRest, report.Repaired)
	r.wantRight(report, report.Right+report.Repaired, "rebuild")
	auditor, err = r.auditor(audit.Options{})
	if err != nil {
		return err
	}
	if report, err = auditor.Run(ctx, auditor.All(audit.Range{}), nil); err != nil {
		return err
	}
	r.wantRight(report, report.Right, "audit")
	return nil
}

func (r *system) wantRight(report *audit.Report, right int, what string) {
	if right != report.Targets || report.Targets == 0 {
		r.books.found("after the %s %d of %d targets are right: %+v", what, right, report.Targets, report.Findings[:min(3, len(report.Findings))])
	}
}

// replays is how often what is left is replayed: a poison record that a mapping
// still delivers, on a slow machine, is a new failure, which stays.
const replays = 5

// replay mends what the failure destination has.
func (r *system) replay(ctx context.Context, auditor *audit.Auditor) error {
	for round := 1; ; round++ {
		failures, err := auditor.Failures(ctx)
		if err != nil {
			return err
		}
		_, left, err := auditor.Replay(ctx, failures, nil, nil)
		if err != nil {
			return err
		}
		r.count(replayed, len(failures)-len(left))
		if len(left) == 0 {
			return nil
		}
		if round == replays {
			r.books.found("%d of %d failures are left after the last replay: %+v", len(left), len(failures), left)
			return nil
		}
		if err := r.settle(ctx); err != nil {
			return err
		}
	}
}

// mendPoison gives events data that can be read, and removes other poison.
func (r *system) mendPoison(ctx context.Context) error {
	for _, p := range r.poison {
		var err error
		if mended := item(p.key); p.event == (identity{}) {
			_, err = r.DB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &r.Names.Items, Key: p.key})
		} else {
			mended["data"] = &types.AttributeValueMemberM{Value: item{"t": &types.AttributeValueMemberN{Value: "7.25"}}}
			_, err = r.DB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &r.Names.Items, Item: mended})
			r.books.put(mended)
		}
		if err != nil {
			return fmt.Errorf("mending poison: %w", err)
		}
	}
	r.mended, r.poison = r.poison, nil
	return nil
}

// auditor makes one whose writes fail now and then; calls that it needs in large
// numbers do not.
func (r *system) auditor(o audit.Options) (*audit.Auditor, error) {
	settings, err := settingsOf[rollup.Settings](r)
	if err != nil {
		return nil, err
	}
	o.Names, o.Rules, o.EventRetention = r.Names, settings.Rules, eventRetention
	o.Wait, o.Poll, o.Concurrency = time.Minute, 50*time.Millisecond, r.o.auditors()
	c := &client{Client: r.DB, dice: r.dice, chances: auditChances, who: "audit", life: newLife(), applied: func() {}}
	return audit.New(o, auditClient{c})
}

// eventRetention is ingest's default.
const eventRetention = 720 * time.Hour

type auditClient struct{ *client }

func (a auditClient) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return a.client.Client.PutItem(ctx, in, o...)
}

func (a auditClient) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return a.client.Client.GetItem(ctx, in, o...)
}

func scale(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }
