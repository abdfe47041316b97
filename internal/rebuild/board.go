package rebuild

import (
	"context"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// rankings checks boards, period by period.
type rankings struct{ *tools }

func (b *rankings) check(ctx context.Context, target schema.Target) (Result, error) {
	p := &period{rankings: b, Period: parts.Period{Board: target.Base.Name, Label: target.Period}, last: &reading{entries: &ranking{}}}
	result, err := checkWithProof(ctx, b.tools, p)
	if err == nil && b.o.afterErase {
		result, err = b.repeat(ctx, maxRounds, Busy, func(int) (Result, error) { return p.clearIfEmpty(ctx, result) })
	}
	result.Items = p.last.entries.count
	return result, err
}

// period is a board's period that is checked. Its players are read from the index, and their entries from the table,
// because rows in the index may be outdated. Both reads may lag.
//
// The proof at proveOnce also holds for a lagging index:
//   - A write before the markers was folded before the first reading. The second reading is after
//     Options.IndexLag, so the index has the write.
//   - A write after the markers came after the first reading of the index. If the second reading lacks the write, its
//     figures lack it, too. The write is folded later, because the markers have lower sequence numbers.
type period struct {
	*rankings
	parts.Period
	last *reading // the newest reading; an empty one until the first
}

// reading is one reading of a period: of its stored summaries, then of its entries in the index.
type reading struct {
	begun   time.Time
	stored  *storedSummaries
	entries *ranking
}

// maxBoardRounds bounds how often the check of a period is repeated. Each proof takes as long as the index may lag.
const maxBoardRounds = 3

// retryLimit returns the state Open for a period that is current, or was an hour ago, and otherwise Busy.
func (p *period) retryLimit() (rounds int, state State) {
	now := p.o.Now()
	for _, length := range boards.Periods() {
		if p.Label == length.Label(now) || p.Label == length.Label(now.Add(-foldLag)) {
			return maxBoardRounds, Open
		}
	}
	return maxBoardRounds, Busy
}

func (p *period) readAll(ctx context.Context) (read *reading, err error) {
	read = &reading{begun: p.o.Now()}
	if read.stored, err = p.readStored(ctx); err != nil {
		return nil, err
	}
	if read.entries, err = p.readRanking(ctx, read.stored.placesToRead()); err != nil {
		return nil, err
	}
	p.last = read
	return read, nil
}

func (p *period) resultWithoutProof(read *reading) (r Result, done bool) {
	now := p.o.Now()
	mayBeGone := read.entries.count == 0 && !p.o.afterErase // a delete deletes the summaries, expired or not
	switch {
	case read.entries.fault != nil:
		return oneFinding(Unreadable, read.entries.fault.Error()), true
	case expiresSoon(read.entries.earliestExpiry, now) || mayBeGone && expiresSoon(read.stored.expires, now):
		return oneFinding(TooOld, ""), true
	}
	return Result{}, len(read.stored.compare(read.entries)) == 0
}

// expiresSoon reports whether an expiry is past or within 10 minutes, so that items may be deleted. 0 means no expiry.
func expiresSoon(expires int64, now time.Time) bool {
	return expires != 0 && expires <= now.Add(safety).Unix()
}

func (p *period) prove(ctx context.Context, first *reading) (parts.Proof, error) {
	proof, err := p.prover.ProveEntries(ctx, p.Period, first.entries.players)
	if proof.Missing != "" || err != nil {
		return proof, err
	}
	return proof, dynamo.WaitFor(ctx, first.begun.Add(p.o.IndexLag).Sub(p.o.Now()))
}

func (p *period) unchanged(first, second *reading) bool {
	return first.stored.unchanged(second.stored) && first.entries.samePlaces(second.entries)
}

// repair returns the differences of a period at rest, and repairs them if Options.Repair is set. It repairs a top or
// outdated rows by a note to the aggregator.
func (p *period) repair(ctx context.Context, second *reading, watermarks map[string]string) (result Result, err error) {
	result.Findings = second.stored.compare(second.entries)
	if !p.o.Repair {
		return result, nil
	}
	if second.stored.cellsDiffer(second.entries) {
		_, err = p.cells.Replace(ctx, p.Key(), second.stored.fragments, second.entries.cells, second.entries.latestExpiry, watermarks)
	}
	if err == nil && len(second.entries.outdated) > 0 && !second.stored.rowsNoted {
		err = fold.NoteRows(ctx, p.client, p.o.Names.Rollups, p.Period, "check", ulid.Make().String(), second.entries.outdated, p.o.Now())
	}
	if err == nil && second.stored.topFault(second.entries) != "" {
		err = p.noteTop(ctx)
	}
	for i := range result.Findings {
		result.Findings[i].Repaired = err == nil
	}
	return result, err
}

// noteTop notes the board, so that the aggregator rechecks its top.
func (p *period) noteTop(ctx context.Context) error {
	return fold.NoteBoard(ctx, p.client, p.o.Names.Rollups, p.Board, p.Label, p.o.Now())
}

// maxPeriods bounds the days of one board that one check covers.
const maxPeriods = 10_000

// boardSpan is how far back the periods of a board are checked by default: the default retention of past periods, and some
// days.
const boardSpan = 38 * oneDay

// targets returns a board's periods: all time, and the days, weeks and months that overlap a range. A zero To is
// now. A zero From is 38 days before To.
func (b *rankings) targets(name string, bounds Range) ([]schema.Target, error) {
	if bounds.To.IsZero() {
		bounds.To = b.o.Now()
	}
	if bounds.From.IsZero() {
		bounds.From = bounds.To.Add(-boardSpan)
	}
	if n := bounds.To.Sub(bounds.From) / oneDay; n > maxPeriods {
		return nil, fmt.Errorf("board %q: %d days from %s to %s: check at most %d at a time", name, n, bounds.From.Format(time.DateOnly), bounds.To.Format(time.DateOnly), maxPeriods)
	}
	var list []schema.Target
	seen := map[string]bool{}
	for _, length := range boards.Periods() {
		for at := bounds.From.UTC().Truncate(oneDay); at.Before(bounds.To); at = at.Add(oneDay) {
			if label := length.Label(at); !seen[label] {
				seen[label] = true
				list = append(list, parts.Period{Board: name, Label: label}.Target())
			}
		}
	}
	return list, nil
}
