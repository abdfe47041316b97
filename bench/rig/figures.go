package rig

import (
	"context"
	"time"
)

const (
	tick     = 2 * time.Millisecond
	rounding = 1e-6 // of floating point numbers that should come to a whole call
)

// Pace calls do at a rate a second, which may change with the time since the start, for
// a time or until ctx ends.
func Pace(ctx context.Context, lasting time.Duration, rate func(since time.Duration) float64, do func(now time.Time)) {
	begin, due := time.Now(), 0.0
	for last := time.Duration(0); last < lasting && ctx.Err() == nil; {
		time.Sleep(tick)
		now := time.Now()
		since := min(now.Sub(begin), lasting)
		due += rate(since) * (since - last).Seconds()
		for last = since; due >= 1-rounding; due-- {
			do(now)
		}
	}
}
