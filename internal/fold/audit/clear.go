package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// Settle proves that all earlier writes of a board's entries, in all periods, are folded. If it
// can't, it returns what is missing.
func (a *Auditor) Settle(ctx context.Context, name string) (missing string, err error) {
	proof, err := a.marker.Beside(ctx, parts.Period{Board: name, Label: boards.AllTime.Label(a.o.Now())}, nil)
	return proof.Missing, err
}

// Cleared is the outcome of Clear for a board's period.
type Cleared struct {
	Summaries int   // deleted, or emptied
	Kept      int64 // entries written meanwhile
	// Unsure is why the histogram may not count exactly the kept entries; "" if it does.
	Unsure string
	Left   string // why the period was not cleared; "" if it was
}

// Clear deletes the top and empties the histogram of a board's period. The entries must be deleted
// by the time deleted, and settled. It needs Options.Repair.
//
// Clear waits for the folds of the deletes, and until the index shows no deleted entry. If the
// summaries differ from the index then, it audits the period. It keeps entries that were written
// meanwhile, and then the summaries too, once the top has no deleted player.
func (a *Auditor) Clear(ctx context.Context, name, label string, deleted time.Time) (c Cleared, err error) {
	p := &clearing{&period{a.boards, parts.Period{Board: name, Label: label}}, &c}
	settled := deleted.Add(a.o.IndexLag)
	deadline := a.o.Now().Add(a.o.Wait)
	if settled.After(deadline) {
		deadline = settled
	}
	for a.o.Now().Before(deadline) {
		done, err := p.agreed(ctx, settled)
		if done || err != nil {
			return c, err
		}
		if err := a.pause(ctx); err != nil {
			return c, err
		}
	}
	result, err := proved(ctx, a.tools, p.period)
	if err == nil {
		err = p.audited(ctx, result)
	}
	return c, err
}

// clearing is a period that is being cleared, and the outcome.
type clearing struct {
	*period
	*Cleared
}

// agreed clears a period whose summaries agree with the index. If done is false, the caller reads again.
func (p *clearing) agreed(ctx context.Context, settled time.Time) (done bool, err error) {
	now := p.o.Now()
	s, err := p.look(ctx)
	if err != nil {
		return false, err
	}
	p.Kept = s.entries.n // may be fewer than at the previous reading
	switch {
	case s.entries.fault != nil || len(s.kept.compare(s.entries)) > 0:
		return false, nil
	case s.entries.n == 0:
		return p.tidy(ctx, s.kept)
	}
	return !now.Before(settled), nil
}

// audited clears a period after its audit.
func (p *clearing) audited(ctx context.Context, audited Result) error {
	moving := audited.Open() || audited.only(Busy)
	if !audited.Right() && !moving {
		p.Left = cmp.Or(audited.Findings[0].Detail, "its summaries expire within ten minutes")
		return nil
	}
	s, err := p.look(ctx)
	if err != nil {
		return err
	}
	p.Kept = s.entries.n
	if p.Kept == 0 {
		done := false
		if !moving && !s.kept.cellsDiffer(s.entries) {
			done, err = p.tidy(ctx, s.kept)
		}
		if !done {
			p.Left = "it is being folded into"
		}
		return err
	}
	gone, err := p.strangers(ctx, s.kept)
	if err != nil {
		return err
	}
	if gone > 0 {
		p.Left = fmt.Sprintf("the top has %d players who are gone: the aggregator looks at it again within minutes", gone)
		return p.noteTop(ctx)
	}
	if moving {
		p.Unsure = audited.Findings[0].Detail
	}
	return nil
}

// strangers returns the number of players in a top who have no entry.
func (p *clearing) strangers(ctx context.Context, k *kept) (int, error) {
	if k.top == nil {
		return 0, nil
	}
	var keys []item
	for _, e := range k.top.Entries() {
		keys = append(keys, dynamo.Key(schema.EntryKey(p.Board, p.Label, e.Player)))
	}
	found, err := dynamo.BatchGet(ctx, p.client, p.o.Names.Items, keys, true)
	return len(keys) - len(found), err
}

// tidy deletes the summaries of a period without entries, except its histogram's sequence numbers. done is false if a fold
// came meanwhile. A concurrent refresh of the sum stores nothing, or the sum gets a note again.
func (p *clearing) tidy(ctx context.Context, k *kept) (done bool, err error) {
	if slices.ContainsFunc(k.parts, func(part parts.Part[board.Histogram]) bool { return !part.Emptied() }) {
		err := replace(ctx, p.cells, p.Key(), k.parts, board.Histogram{}, 0, nil) // at once: parts may be negative
		switch {
		case errors.Is(err, parts.ErrMoved):
			return false, nil
		case err != nil:
			return false, err
		}
		p.Summaries++
	}
	if len(k.summed) > 0 {
		if _, err := p.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &p.o.Names.Rollups, Key: dynamo.Key(p.PK(), schema.SumSK),
		}); err != nil {
			return false, fmt.Errorf("deleting the sum of %q: %w", p.PK(), err)
		}
		p.Summaries++
	}
	if len(k.stored) == 0 {
		return true, nil
	}
	done, err = p.deleteTop(ctx, k)
	if done {
		p.Summaries++
	}
	return done, err
}

// deleteTop deletes the top of a period without entries, if it is as it was read. A whole top
// without entries means the same as no top. Any other is noted first, because it may have ignored
// an entry that the index doesn't have yet.
func (p *clearing) deleteTop(ctx context.Context, k *kept) (done bool, err error) {
	if k.top == nil || !k.top.Whole() || len(k.top.Entries()) > 0 {
		if err := p.noteTop(ctx); err != nil {
			return false, err
		}
	}
	condition, names, values := dynamo.Unchanged(k.stored, schema.TopVersion, schema.TopPlaces, schema.TopWhole)
	_, err = p.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &p.o.Names.Rollups, Key: dynamo.Key(p.PK(), schema.TopSK),
		ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	if _, moved := dynamo.ConditionFailed(err); moved {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("deleting the top of %q: %w", p.PK(), err)
	}
	return true, nil
}
