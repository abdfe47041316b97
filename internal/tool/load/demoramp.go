package load

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// stage is a part of the ramp with a constant rate.
type stage struct {
	rate   float64 // writes a second
	length time.Duration
}

// rampStages returns a ramp of length total, for partitions of partitionWCU. The first rate is below the threshold of a
// hot key. The second is between the threshold and the limit, so that the detector counts a whole window before a write
// is throttled. The others are above the limit, the last until the end. A ramp under a minute lacks the first rate.
func rampStages(total time.Duration, partitionWCU float64) []stage {
	stages := []stage{
		{0.6 * partitionWCU, 10 * time.Second},
		{0.9 * partitionWCU, 20 * time.Second},
		{3 * partitionWCU, 15 * time.Second},
		{10 * partitionWCU, 0},
	}
	if total < time.Minute {
		stages = []stage{{0.9 * partitionWCU, 12 * time.Second}, {3 * partitionWCU, 6 * time.Second}, {6 * partitionWCU, 0}}
	}
	last := &stages[len(stages)-1]
	last.length = total
	for _, s := range stages[:len(stages)-1] {
		last.length -= s.length
	}
	return stages
}

// rampSource returns requests that increment one counter, and yields each when it is due. A load that is late by more
// than one interval does not catch up, because a burst would be throttled at any mean rate.
func rampSource(ctx context.Context, counter string, stages []stage) Source {
	return Source{Name: "ramp", Requests: func() iter.Seq2[Request, error] {
		return func(yield func(Request, error) bool) {
			stageBegin, number := time.Now(), 0
			due := stageBegin
			for _, s := range stages {
				stageEnd := stageBegin.Add(s.length)
				interval := time.Duration(float64(time.Second) / s.rate)
				for due = latest(due, stageBegin); due.Before(stageEnd); due = latest(due.Add(interval), time.Now().Add(-interval)) {
					if !waitUntil(ctx, due) {
						yield(Request{}, context.Cause(ctx))
						return
					}
					number++
					if !yield(Request{Path: counter, Client: "ramp", ID: fmt.Sprintf("ramp-%08d", number)}, nil) {
						return
					}
				}
				stageBegin = stageEnd
			}
		}
	}}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// waitUntil waits until due. It returns false if ctx ended before.
func waitUntil(ctx context.Context, due time.Time) bool {
	return dynamo.Pause(ctx, time.Until(due)) && ctx.Err() == nil
}
