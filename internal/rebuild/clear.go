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

// clear deletes the summaries of a checked period without entries. If there are entries, it only checks
// that each player in the top has an entry: the period may change too often for a full check.
func (p *period) clear(ctx context.Context, checked Result) (Result, error) {
	moving := checked.Open() || checked.only(Busy)
	if !checked.Right() && !moving {
		return checked, nil
	}
	s, err := p.readAll(ctx)
	switch {
	case err != nil:
		return checked, err
	case s.entries.n > 0:
		return p.checkPlayers(ctx, s.kept, checked)
	case moving:
		return checked, nil
	case s.kept.cellsDiffer(s.entries):
		return checked, parts.ErrMoved
	}
	err = p.deleteSummaries(ctx, s.kept, &checked)
	return checked, err
}

// checkPlayers returns a finding if the top has players without an entry, and notes the top.
func (p *period) checkPlayers(ctx context.Context, k *kept, checked Result) (Result, error) {
	if k.top == nil {
		return checked, nil
	}
	var keys []item
	for _, e := range k.top.Entries() {
		keys = append(keys, dynamo.Key(schema.EntryKey(p.Board, p.Label, e.Player)))
	}
	found, err := dynamo.BatchGet(ctx, p.client, p.o.Names.Items, keys, true)
	if gone := len(keys) - len(found); gone > 0 && err == nil {
		return finding(Wrong, fmt.Sprintf("the top has %s gone from the board: the aggregator looks at it again within minutes", display.Several(gone, "player"))), p.noteTop(ctx)
	}
	return checked, err
}

// deleteSummaries deletes the summaries of a period without entries, except its histogram's sequence numbers. It returns
// parts.ErrMoved after a fold.
func (p *period) deleteSummaries(ctx context.Context, k *kept, checked *Result) (err error) {
	empty := !slices.ContainsFunc(k.parts, func(part parts.Part[parts.Histogram]) bool { return !part.Emptied() })
	if !empty { // all in one transaction: fragments may be negative
		_, err = p.cells.Replace(ctx, p.Key(), k.parts, parts.Histogram{}, 0, nil)
	}
	if err == nil && len(k.stored) > 0 {
		err = p.deleteTop(ctx, k)
	}
	if err == nil && (!empty || len(k.stored) > 0) {
		*checked = checked.with(Result{Findings: []Finding{{State: Removed, Repaired: true}}})
	}
	return err
}

// deleteTop deletes the top of a period without entries, if it is as it was read. A whole top
// without entries means the same as no top. Any other is noted first, because it may have ignored
// an entry that the index doesn't have yet.
func (p *period) deleteTop(ctx context.Context, k *kept) error {
	if k.top == nil || !k.top.Whole() || len(k.top.Entries()) > 0 {
		if err := p.noteTop(ctx); err != nil {
			return err
		}
	}
	condition, names, values := dynamo.Unchanged(k.stored, schema.TopVersion, schema.TopPlaces, schema.TopWhole)
	_, err := p.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &p.o.Names.Rollups, Key: dynamo.Key(p.PK(), schema.TopSK),
		ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	if _, moved := dynamo.ConditionFailed(err); moved {
		return parts.ErrMoved
	}
	return err
}
