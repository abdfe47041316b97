package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/rollup/histogram"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
)

// standing is a board's period.
type standing struct{ board, period string }

func (s standing) pk() string { return schema.BoardRollupKey(s.board, s.period) }

// running tells whether a period is not over, or ended lately.
func (s standing) running(now time.Time) bool {
	for _, p := range []boards.Period{boards.AllTime, boards.Daily, boards.Weekly} {
		if s.period == p.Label(now) || s.period == p.Label(now.Add(-lately)) {
			return true
		}
	}
	return false
}

// maxBoardRounds bounds how often a board's period is looked at for proof, each time
// for as long as the index may lag.
const maxBoardRounds = 3

// board audits the summaries of a board's period: it looks once for folds that are on
// their way, and then for proof. It starts over when something has changed.
func (a *Auditor) board(ctx context.Context, s standing) (Result, error) {
	for round := range 1 + maxBoardRounds {
		if round > 0 {
			if err := a.pause(ctx); err != nil {
				return Result{}, err
			}
		}
		result, again, err := a.boardOnce(ctx, s, round > 0 || a.o.Wait == 0)
		if err != nil || !again {
			return result, err
		}
	}
	state := Busy
	if s.running(a.o.Now()) {
		state = Open
	}
	return finding(state, fmt.Sprintf("it changed each of %d times it was looked at", maxBoardRounds)), nil
}

// boardOnce compares what is kept of a board's period with its entries, and repairs
// it. What differs without prove, or has changed, is to be looked at again.
//
// The index says which entries there are, and lags. Two readings, with marks put and
// acknowledged in between, prove what is compared, if neither the histogram nor what
// the index says differs between the two:
//
//   - a write before the marks was folded when they were acknowledged. No part has
//     moved, so it was folded before the first reading of the parts, and is older
//     than the index's lag in the second reading of that;
//   - a write after the marks came after the first reading of the index, and would
//     make the second another. If that doesn't show it, it isn't counted, and is
//     folded later: the marks' sequence numbers are lower.
func (a *Auditor) boardOnce(ctx context.Context, s standing, prove bool) (result Result, again bool, err error) {
	begun := a.o.Now()
	kept, err := a.readKept(ctx, s)
	if err != nil {
		return Result{}, false, err
	}
	entries, err := a.readRanking(ctx, s, kept.places())
	if err != nil {
		return Result{}, false, err
	}
	switch {
	case entries.fault != nil:
		return finding(Unreadable, entries.fault.Error()), false, nil
	case entries.tooOld(a.o.Now()) || entries.n == 0 && kept.tooOld(a.o.Now()):
		return finding(TooOld, ""), false, nil
	case len(kept.compare(entries)) == 0:
		return Result{}, false, nil
	case !prove:
		return Result{}, true, nil
	}
	floors, why, err := a.settleBoard(ctx, s, entries.players)
	switch {
	case err != nil:
		return Result{}, false, err
	case why != "":
		return finding(Unsettled, why), false, nil
	}
	for a.o.Now().Sub(begun) < a.o.IndexLag {
		if err := a.pause(ctx); err != nil {
			return Result{}, false, err
		}
	}
	second, err := a.readRanking(ctx, s, kept.places())
	if err != nil {
		return Result{}, false, err
	}
	now, err := a.readKept(ctx, s)
	if err != nil {
		return Result{}, false, err
	}
	if !now.same(kept) || !second.same(entries) {
		return Result{}, true, nil
	}
	return a.repairBoard(ctx, s, kept, second, floors)
}

// repairBoard takes care of a board's period that is at rest and differs from its
// entries. A top is made right by the aggregator's next look at what is noted.
func (a *Auditor) repairBoard(ctx context.Context, s standing, kept *kept, entries *ranking, floors map[string]string) (result Result, again bool, err error) {
	result.Findings = kept.compare(entries)
	if !a.o.Repair {
		return result, false, nil
	}
	if kept.cellsDiffer(entries) {
		_, err = a.cells.Replace(ctx, s.board, s.period, kept.parts, entries.total(a.o.Now()), floors)
		switch {
		case errors.Is(err, parts.ErrMoved):
			return Result{}, true, nil
		case errors.Is(err, histogram.ErrTooMany):
			again, err = a.squeeze(ctx, s, kept.parts)
		}
		switch {
		case err != nil && !ofCall(err):
			return finding(Failed, err.Error()), false, nil
		case err != nil || again:
			return Result{}, again, err
		}
	}
	if kept.topDiffers(entries) {
		if err := rollup.NoteBoard(ctx, a.client, a.o.Names.Rollups, s.board, s.period, a.o.Now()); err != nil {
			return result, false, err
		}
	}
	for i := range result.Findings {
		result.Findings[i].Repaired = true
	}
	return result, false, nil
}

// squeeze merges as many parts as can be, so that one transaction can replace them
// all. They have moved then.
func (a *Auditor) squeeze(ctx context.Context, s standing, read []histogram.Part) (merged bool, err error) {
	for {
		now := a.o.Now()
		chosen := histogram.Choose(read, now, func(histogram.Part) bool { return true })
		if len(chosen) == 0 && !merged {
			return false, fmt.Errorf("the histogram %q: %w, and they can't be merged", s.pk(), histogram.ErrTooMany)
		}
		if len(chosen) == 0 {
			return true, nil
		}
		done, err := a.cells.Replace(ctx, s.board, s.period, chosen, histogram.Sum(chosen, now), nil)
		if errors.Is(err, parts.ErrMoved) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		read, merged = append(histogram.Without(read, chosen), done.Merged), true
	}
}

// maxPeriods bounds the periods of one board that are asked for.
const maxPeriods = 10_000

// boardSpan is how far back the days and weeks of a board are asked for, unless it is
// said: the retention of periods that are over, by default, and some days.
const boardSpan = 38 * oneDay

// Board lists a board's periods: all time, and the days and weeks that have an instant
// in a range. Without a From it begins 38 days ago, without a To it ends now.
func (a *Auditor) Board(name string, r Range) ([]schema.Target, error) {
	if r.To.IsZero() {
		r.To = a.o.Now()
	}
	if r.From.IsZero() {
		r.From = r.To.Add(-boardSpan)
	}
	if n := r.To.Sub(r.From) / oneDay; n > maxPeriods {
		return nil, fmt.Errorf("there are %d days from %s to %s: at most %d can be audited at a time", n, r.From.Format(time.DateOnly), r.To.Format(time.DateOnly), maxPeriods)
	}
	var list []schema.Target
	seen := map[string]bool{}
	for _, kind := range []boards.Period{boards.AllTime, boards.Daily, boards.Weekly} {
		for at := r.From.UTC().Truncate(oneDay); at.Before(r.To); at = at.Add(oneDay) {
			if label := kind.Label(at); !seen[label] {
				seen[label] = true
				list = append(list, boardTarget(name, label))
			}
		}
	}
	return list, nil
}

func boardTarget(name, period string) schema.Target {
	return schema.Target{Base: schema.BaseKey{Type: schema.Board, Name: name}, Period: period}
}

// total is the histogram of the entries, with their lifetime.
func (r *ranking) total(now time.Time) histogram.Part {
	p := histogram.Part{Cells: r.cells, ExpiresAt: r.expires}
	if r.n == 0 {
		p.ExpiresAt = now.Add(schema.EmptiedLifetime).Unix()
	}
	p.Cells.Limit(board.MaxCells)
	return p
}
