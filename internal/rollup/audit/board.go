package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/rollup/marks"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/rollup/scan"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// rankings are audited period by period.
type rankings struct {
	*tools
	cells *parts.Store[board.Histogram]
}

func (b *rankings) check(ctx context.Context, t schema.Target) (Result, error) {
	return proved(ctx, b.tools, &period{b, parts.Period{Board: t.Base.Name, Label: t.Period}})
}

// periodKinds are those of a board's periods.
var periodKinds = []boards.Period{boards.AllTime, boards.Daily, boards.Weekly}

// period is a board's period that is audited. Its items are what the index has of it,
// which lags.
//
// What is said at proveOnce holds for a lagging index, too. A write before the marks was
// folded before the first look, so it is older than the index's lag in the second, which
// comes as long after the first. A write after the marks came after the first reading of
// the index, and would make the second another. If that doesn't show it, it isn't counted,
// and is folded later: the marks' sequence numbers are lower.
type period struct {
	*rankings
	parts.Period
}

// reading is a look at a period.
type reading struct {
	begun   time.Time
	kept    *kept
	entries *ranking
}

// maxBoardRounds bounds how often a board's period is looked at for proof, each time
// for as long as the index may lag.
const maxBoardRounds = 3

func (p *period) restless() (rounds int, state State) {
	now := p.o.Now()
	for _, kind := range periodKinds {
		if p.Label == kind.Label(now) || p.Label == kind.Label(now.Add(-lately)) {
			return maxBoardRounds, Open
		}
	}
	return maxBoardRounds, Busy
}

func (p *period) look(ctx context.Context) (s *reading, err error) {
	s = &reading{begun: p.o.Now()}
	if s.kept, err = p.readKept(ctx); err != nil {
		return nil, err
	}
	s.entries, err = p.readRanking(ctx, s.kept.places())
	return s, err
}

func (p *period) judge(s *reading) (r Result, done bool) {
	now := p.o.Now()
	switch {
	case s.entries.fault != nil:
		return finding(Unreadable, s.entries.fault.Error()), true
	case tooOld(s.entries.soonest, now) || s.entries.n == 0 && tooOld(s.kept.expires, now):
		return finding(TooOld, ""), true
	}
	return Result{}, len(s.kept.compare(s.entries)) == 0
}

// tooOld tells whether the time of something is over, or soon is: others may have been
// deleted then. 0 is never.
func tooOld(expires int64, now time.Time) bool {
	return expires != 0 && expires <= now.Add(safety).Unix()
}

func (p *period) prove(ctx context.Context, s *reading) (marks.Proof, error) {
	proof, err := p.marker.Beside(ctx, p.Period, s.entries.players)
	if proof.Missing != "" || err != nil {
		return proof, err
	}
	return proof, scan.Wait(ctx, s.begun.Add(p.o.IndexLag).Sub(p.o.Now()))
}

func (p *period) same(first, second *reading) bool {
	return first.kept.same(second.kept) && first.entries.same(second.entries)
}

// repair takes care of a board's period that is at rest and differs from its entries. A
// top is made right by the aggregator's next look at what is noted.
func (p *period) repair(ctx context.Context, s *reading, floors map[string]string) (result Result, err error) {
	result.Findings = s.kept.compare(s.entries)
	if !p.o.Repair {
		return result, nil
	}
	if s.kept.cellsDiffer(s.entries) {
		err = replace(ctx, p.cells, p.Key(), s.kept.parts, s.entries.cells, s.entries.expires, floors)
	}
	if err == nil && s.kept.whyTop(s.entries) != "" {
		err = p.noteTop(ctx)
	}
	for i := range result.Findings {
		result.Findings[i].Repaired = err == nil
	}
	return result, err
}

// noteTop has the aggregator look at the top again.
func (p *period) noteTop(ctx context.Context) error {
	return rollup.NoteBoard(ctx, p.client, p.o.Names.Rollups, p.Board, p.Label, p.o.Now())
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
	for _, kind := range periodKinds {
		for at := r.From.UTC().Truncate(oneDay); at.Before(r.To); at = at.Add(oneDay) {
			if label := kind.Label(at); !seen[label] {
				seen[label] = true
				list = append(list, parts.Period{Board: name, Label: label}.Target())
			}
		}
	}
	return list, nil
}
