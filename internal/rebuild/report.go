package rebuild

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
)

// State is what is wrong with a counter's write shard, a bucket or a board's period.
type State string

// States that can be repaired.
const (
	Stale   State = "stale"   // the summary lacks a write shard's newest state, and no fold added it
	Wrong   State = "wrong"   // the summary has other figures than the items
	Removed State = "removed" // the summary has the value of a write shard that is gone
	Ahead   State = "ahead"   // the summary is newer than the item, as after a restore
	Copy    State = "copy"    // an event is stored on two write shards; readers return one copy, and a rollup has both
	Fewer   State = "fewer"   // fewer events are stored than the rollup has: repaired with Options.Lower only
)

// States that can't be repaired, or not now.
const (
	Busy       State = "busy"       // the summary changed during each reading
	Open       State = "open"       // busy, and the bucket or period is current or has just ended
	Unsettled  State = "unsettled"  // the stream was not folded as far as the events that were read
	Unreadable State = "unreadable" // an item or a summary has an invalid form; repaired for a board's summaries
	Failed     State = "failed"     // a call to DynamoDB failed
	TooOld     State = "too old"    // the events or the rollup may have expired
)

// next has what to do about a finding that was not repaired.
var next = map[State]string{
	Stale: repairIt, Wrong: repairIt, Removed: repairIt, Ahead: repairIt,
	Copy:       repairIt + "; copies of events of the last minutes stay until they are older",
	Fewer:      "events were deleted or have expired, or the rollup counted some twice: if the rollup should have the stored ones only, add --repair --lower",
	Busy:       "check it again later",
	Open:       "check it again after its hour has ended, or a board while it gets no scores",
	Unsettled:  "start the aggregator, or let it catch up, and check again",
	Unreadable: "fix or delete what it names, and then add --repair",
	Failed:     "correct what the error names, and check again",
	TooOld:     "nothing, if its items have expired; if they are kept for longer, set --event-retention or HOTSHARD_EVENT_RETENTION",
}

const repairIt = "add --repair"

// Finding describes a target that is, or was, not right.
type Finding struct {
	Type       schema.Kind `json:"type"`
	Name       string      `json:"name"`
	Bucket     string      `json:"bucket,omitempty"`      // 2026-01-05T13; of an entity
	Period     string      `json:"period,omitempty"`      // of a board
	WriteShard *int        `json:"write_shard,omitempty"` // of a counter
	State      State       `json:"state"`
	Repaired   bool        `json:"repaired"`
	Summary    *Figures    `json:"summary,omitempty"` // as found; absent if there is none
	Items      *Figures    `json:"items,omitempty"`   // as found; absent if there are none
	Detail     string      `json:"detail,omitempty"`
	Next       string      `json:"next,omitempty"` // what to do; absent once it is repaired
}

// describe sets the target and Next in all findings.
func (r Result) describe(target schema.Target) {
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Type, f.Name, f.Period = target.Base.Type, target.Base.Name, target.Period
		if !f.Repaired {
			f.Next = next[f.State]
		}
		if !target.Hour.IsZero() {
			f.Bucket = parts.BucketFor(target).Label()
		}
	}
}

// compare orders findings by their targets.
func (f Finding) compare(g Finding) int {
	byName := cmp.Or(cmp.Compare(f.Type, g.Type), cmp.Compare(f.Name, g.Name), cmp.Compare(f.Bucket, g.Bucket), cmp.Compare(f.Period, g.Period))
	if byName != 0 || f.WriteShard == nil || g.WriteShard == nil {
		return byName
	}
	return cmp.Compare(*f.WriteShard, *g.WriteShard)
}

// Result is the outcome of one target's check. The target was right if there are no findings.
type Result struct {
	Findings []Finding
	Items    int64 // write shards of a counter, events of a bucket, or entries of a period
}

// with returns the result with the findings of another result added.
func (r Result) with(other Result) Result {
	r.Findings = append(r.Findings, other.Findings...)
	return r
}

func oneFinding(state State, detail string) Result {
	return Result{Findings: []Finding{{State: state, Detail: detail}}}
}

// Right reports whether the target was right, or all its findings are repaired.
func (r Result) Right() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return !f.Repaired })
}

// TooOld reports whether the target was not checked because some of it may have expired.
func (r Result) TooOld() bool { return r.only(TooOld) }

// Open reports whether the target could not be checked because its time is not over.
func (r Result) Open() bool { return r.only(Open) }

func (r Result) only(state State) bool { return len(r.Findings) == 1 && r.Findings[0].State == state }

// Report is the outcome of many targets.
type Report struct {
	Begun    time.Time     `json:"begun_at"`
	Targets  int           `json:"targets"`  // checked
	Right    int           `json:"right"`    // as found
	Repaired int           `json:"repaired"` // right after a repair
	TooOld   int           `json:"too_old"`  // not checked
	Open     int           `json:"open"`     // still folded into, because their time is not over
	States   map[State]int `json:"states"`   // findings, repaired ones too
	Findings []Finding     `json:"findings"` // the first MaxFindings, without buckets older than a retention
	More     int           `json:"more"`     // findings beyond the first MaxFindings

	Failures  int       `json:"failures"`  // read before the run
	Forgotten int       `json:"forgotten"` // failures that were deleted
	Left      []Failure `json:"left"`      // failures that were not
}

// MaxFindings bounds the findings in a Report, which counts all.
const MaxFindings = 1000

// Bad returns the number of targets that are wrong or could not be checked, except targets that are too old or open.
func (r *Report) Bad() int { return r.Targets - r.Right - r.Repaired - r.TooOld - r.Open }

// add counts the result of a target, and adds its findings.
func (r *Report) add(result Result) {
	r.Targets++
	switch {
	case len(result.Findings) == 0:
		r.Right++
	case result.TooOld():
		r.TooOld++
	case result.Open():
		r.Open++
	case result.Right():
		r.Repaired++
	}
	for _, f := range result.Findings {
		r.States[f.State]++
		switch {
		case f.State == TooOld && f.Detail == "": // older than a retention
		case len(r.Findings) < MaxFindings:
			r.Findings = append(r.Findings, f)
		default:
			r.More++
		}
	}
}

// Source passes targets to emit, from one or more goroutines, and stops at an error of emit.
type Source func(ctx context.Context, emit func(schema.Target) error) error

// List returns the source of the given targets.
func List(targets ...schema.Target) Source {
	return func(_ context.Context, emit func(schema.Target) error) error {
		for _, t := range targets {
			if err := emit(t); err != nil {
				return err
			}
		}
		return nil
	}
}

// Run checks the targets of a source, Options.Concurrency at a time. If each is not nil, Run calls
// it after each target, one call at a time.
//
// Run returns an error if ctx ends, or if DynamoDB rejects a call for lack of a table or a permission, which all targets
// need. The report then covers the targets that were finished. After any other error of a target, its finding is Failed.
func (a *Checker) Run(ctx context.Context, source Source, each func(schema.Target, Result)) (*Report, error) {
	report := &Report{Begun: a.o.Now().UTC().Truncate(time.Millisecond), States: map[State]int{}, Findings: []Finding{}, Left: []Failure{}}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(a.o.Concurrency)
	err := source(ctx, func(t schema.Target) error {
		group.Go(func() error {
			result, err := a.checkTarget(ctx, t)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			report.add(result)
			if each != nil {
				each(t, result)
			}
			return nil
		})
		return ctx.Err()
	})
	if checkErr := group.Wait(); checkErr != nil { // this error also stopped the source
		err = checkErr
	}
	slices.SortStableFunc(report.Findings, Finding.compare)
	return report, err
}

// checkTarget is Check, but returns only errors that concern all targets. For any other error it returns a Failed finding.
func (a *Checker) checkTarget(ctx context.Context, target schema.Target) (Result, error) {
	result, err := a.Check(ctx, target)
	concernsAll := isCallError(err) && !isTargetSpecific(err)
	if err == nil || ctx.Err() != nil || concernsAll {
		return result, err
	}
	result = result.with(oneFinding(Failed, err.Error()))
	result.describe(target)
	return result, nil
}

// isTargetSpecific reports whether a call's error may be of one target only: DynamoDB rejected or throttled the request, or
// failed.
func isTargetSpecific(err error) bool {
	kind := dynamo.Classify(err)
	return dynamo.IsRejected(err) || errors.Is(kind, shard.ErrThrottled) || errors.Is(kind, shard.ErrUnavailable)
}

// isCallError reports whether an error is of a call to DynamoDB or of its context, and not of the data that was read.
func isCallError(err error) bool {
	_, sdk := errors.AsType[*smithy.OperationError](err)
	return sdk || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, shard.ErrThrottled) || errors.Is(err, shard.ErrUnavailable)
}
