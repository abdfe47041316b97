package ingest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// maxUpdates bounds the concurrent updates of one call.
const maxUpdates = 32

type increment struct {
	Counter httpapi.Name `json:"counter" example:"page/home"`
	Delta   int64        `json:"delta" doc:"A whole number other than 0" example:"1"`
}

type countersInput = bodyInput[countersInputBody]

type countersInputBody struct {
	Increments []increment `json:"increments" minItems:"1" maxItems:"500" doc:"At most 99 with an Idempotency-Key"`
}

type counterResult struct {
	Counter httpapi.Name `json:"counter"`
	Status  Status       `json:"status"`
	Detail  string       `json:"detail,omitempty" doc:"Why it was rejected"`
}

type countersAnswer struct {
	Counts
	Results []counterResult `json:"results" doc:"One for each item, in their order"`
}

type countersOutput struct{ Body countersAnswer }

// addCounters adds the increments, with one update for each counter.
func (s *Service) addCounters(ctx context.Context, in *countersInput) (*countersOutput, error) {
	totals, err := sumByCounter(in.Body.Increments)
	if err != nil {
		return nil, err
	}
	now := s.now()
	if in.keyed() {
		return s.addOnce(ctx, in, totals, now)
	}
	outcomes := s.addTotals(ctx, totals, now)
	answer := answerOfIncrements(in.Body.Increments, outcomes)
	if answer.Accepted == 0 {
		return nil, noneAccepted(ctx, slices.Collect(maps.Values(outcomes)))
	}
	return &countersOutput{answer}, nil
}

// answerOfIncrements returns a result for each increment. errs has the errors of counters that were not written.
func answerOfIncrements(increments []increment, errs map[httpapi.Name]error) countersAnswer {
	answer := countersAnswer{Results: make([]counterResult, len(increments))}
	for i, inc := range increments {
		status, detail := answer.countItem(errs[inc.Counter])
		answer.Results[i] = counterResult{inc.Counter, status, detail}
	}
	return answer
}

// total is the sum that one call adds to one counter.
type total struct {
	counter httpapi.Name
	delta   int64
}

// sumByCounter returns each counter's sum of increments, in order of first appearance. It returns an error if a delta
// is 0, or if a sum exceeds 64 bits.
func sumByCounter(increments []increment) ([]total, error) {
	var totals []total
	var faults []error
	index := make(map[httpapi.Name]int, len(increments))
	for i, inc := range increments {
		position, known := index[inc.Counter]
		if !known {
			position = len(totals)
			index[inc.Counter] = position
			totals = append(totals, total{counter: inc.Counter})
		}
		before := totals[position].delta
		sum := before + inc.Delta
		overflow := (sum > before) != (inc.Delta > 0) // the sum has wrapped around
		switch {
		case inc.Delta == 0:
			faults = append(faults, deltaFault(i, inc, "it must not be 0"))
		case overflow:
			faults = append(faults, deltaFault(i, inc, "the counter's increments add up to more than 64 bits"))
		}
		totals[position].delta = sum
	}
	if len(faults) > 0 {
		return nil, httpapi.Invalid(faults...)
	}
	return totals, nil
}

func deltaFault(i int, inc increment, message string) error {
	return &huma.ErrorDetail{Location: fmt.Sprintf("body.increments[%d].delta", i), Message: message, Value: inc.Delta}
}

// addTotals adds the totals concurrently, and returns each counter's error; nil if it was written, or its total is 0.
// An update that can't start by [dynamo.StartBy] is not made; its error is ErrThrottled.
func (s *Service) addTotals(ctx context.Context, totals []total, now time.Time) map[httpapi.Name]error {
	errs, startBy := make([]error, len(totals)), dynamo.StartBy(ctx)
	var group errgroup.Group
	group.SetLimit(maxUpdates)
	for i, t := range totals {
		if t.delta == 0 {
			continue
		}
		group.Go(func() error {
			if !time.Now().Before(startBy) {
				errs[i] = shard.ErrThrottled
				return nil
			}
			errs[i] = s.counter.Add(ctx, string(t.counter), t.delta, now)
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	outcomes := make(map[httpapi.Name]error, len(totals))
	for i, t := range totals {
		outcomes[t.counter] = errs[i]
	}
	return outcomes
}

// addOnce adds the totals of a keyed call in one transaction.
func (s *Service) addOnce(ctx context.Context, in *countersInput, totals []total, now time.Time) (*countersOutput, error) {
	if n := len(in.Body.Increments); n > maxKeyed {
		return nil, tooManyKeyed(n, "increments")
	}
	answer, err := applyOnce(ctx, s, &in.CallKey, now, func(ctx context.Context) (list []shardmap.Write, answer countersAnswer, err error) {
		attempted := s.now() // AddTransact wants the time of this attempt
		for _, t := range totals {
			if t.delta != 0 {
				list = append(list, s.counter.AddTransact(ctx, string(t.counter), t.delta, attempted))
			}
		}
		return list, answerOfIncrements(in.Body.Increments, nil), nil
	})
	return &countersOutput{answer}, err
}
