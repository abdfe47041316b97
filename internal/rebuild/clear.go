package rebuild

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// clearIfEmpty deletes the summaries of a period without entries whose check left nothing wrong, and adds a finding for
// this to the result. If there are entries, it checks that each player in the top has one. It also does this if the
// check ended Open or Busy, since the period may change too often for a full check.
func (p *period) clearIfEmpty(ctx context.Context, checked Result) (Result, error) {
	changing := checked.Open() || checked.only(Busy)
	if !checked.Right() && !changing {
		return checked, nil
	}
	s, err := p.readAll(ctx)
	switch {
	case err != nil:
		return checked, err
	case s.entries.count > 0:
		return p.checkPlayers(ctx, s.stored, checked)
	case changing:
		return checked, nil
	case s.stored.cellsDiffer(s.entries):
		return checked, parts.ErrMoved
	}
	return p.deleteSummaries(ctx, s.stored, checked)
}

// checkPlayers returns checked or, if the top has players without an entry, only this finding. It then notes the top.
func (p *period) checkPlayers(ctx context.Context, stored *storedSummaries, checked Result) (Result, error) {
	if stored.top == nil {
		return checked, nil
	}
	var keys []item
	for _, e := range stored.top.Entries() {
		keys = append(keys, dynamo.Key(schema.EntryKey(p.Board, p.Label, e.Player)))
	}
	found, err := dynamo.BatchGet(ctx, p.client, p.o.Names.Items, keys, true)
	gone := len(keys) - len(found)
	if err != nil || gone == 0 {
		return checked, err
	}
	detail := fmt.Sprintf("the top has %s without an entry: the aggregator rechecks it within minutes", display.Several(gone, "player"))
	return oneFinding(Wrong, detail), p.noteTop(ctx)
}

// deleteSummaries deletes the summaries of a period without entries, except its histogram's sequence numbers. It adds
// a finding if there were any. It returns parts.ErrMoved after a fold.
func (p *period) deleteSummaries(ctx context.Context, stored *storedSummaries, checked Result) (Result, error) {
	counts := slices.ContainsFunc(stored.fragments, func(part parts.Part[parts.Histogram]) bool { return !part.Emptied() })
	if counts { // all in one transaction: fragments may be negative
		if _, err := p.cells.Replace(ctx, p.Key(), stored.fragments, parts.Histogram{}, 0, nil); err != nil {
			return checked, err
		}
	}
	if len(stored.topItem) > 0 {
		if err := p.deleteTop(ctx, stored); err != nil {
			return checked, err
		}
	} else if !counts {
		return checked, nil
	}
	return checked.with(Result{Findings: []Finding{{State: Removed, Repaired: true}}}), nil
}

// deleteTop deletes the top of a period without entries, or returns parts.ErrMoved if the top has changed since it was
// read. Before it deletes a top that is not whole and empty, it notes the board: a fold may have ignored an entry that
// the index doesn't have yet.
func (p *period) deleteTop(ctx context.Context, stored *storedSummaries) error {
	if stored.top == nil || !stored.top.Whole() || len(stored.top.Entries()) > 0 {
		if err := p.noteTop(ctx); err != nil {
			return err
		}
	}
	condition, names, values := dynamo.UnchangedCondition(stored.topItem, schema.TopVersion, schema.TopPlaces, schema.TopWhole)
	_, err := p.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &p.o.Names.Rollups, Key: dynamo.Key(p.PK(), schema.TopSK),
		ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	if _, moved := dynamo.ConditionFailed(err); moved {
		return parts.ErrMoved
	}
	return err
}
