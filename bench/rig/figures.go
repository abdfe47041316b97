package rig

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Quantile of a sorted list; 0 of none.
func Quantile[T any](sorted []T, q float64) (at T) {
	if len(sorted) == 0 {
		return at
	}
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

// Millis is in milliseconds.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// CPU is what the process has used so far of all processors.
func CPU() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err) // it is never refused
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// Memory is what a process has in memory (VmRSS), or had at most (VmHWM), in kB. Linux tells.
func Memory(pid int, which string) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), which+":")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return strconv.Atoi(number)
}

// Sleep waits, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

const (
	tick     = 2 * time.Millisecond
	rounding = 1e-6 // of floating point numbers that should come to a whole call
)

// Steady is a pace that stays.
func Steady(rate float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return rate }
}

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
