package fold

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// noteFolded notes, after a fold into a fragment, that the stored sum lacks the fold. added reports
// that the fragment counted nothing before.
//
// It notes nothing if it knows of a note whose time t is at most half the recheck age ago. The task
// deletes that note only if it read the fragments after t plus the recheck age, so it has this fold.
// It notes nothing either if there is no sum that counts: only that there may be enough fragments
// for one. It takes a sum for absent for half the recheck age, and refresh notes a first sum again.
func (f *topFolder) noteFolded(ctx context.Context, s *boardNews, added bool) error {
	now, lasts := f.now().Round(0), f.recheck/2
	until, _ := f.noted.Get(s.PK())
	if left := until.Sub(now); !added && left > 0 && left <= lasts {
		return nil
	}
	note, err := f.glance(ctx, dynamo.Key(schema.SumNoteKey(s.Board, s.Label)))
	if err != nil {
		return err
	}
	last, _ := dynamo.Millis(note, schema.NoteLast)
	if now.Sub(last) >= lasts {
		wanted, err := f.wantsSum(ctx, s, added, now)
		if err == nil && wanted {
			err = NoteSum(ctx, f.client, f.table, s.Board, s.Label, now)
		}
		if err != nil {
			return err
		}
		last = now
	}
	f.noted.Set(s.PK(), last.Add(lasts))
	return nil
}

// wantsSum reports whether a period's sum is to be refreshed after a fold. While a top is known to
// be whole, or not known, nobody reads a sum, and no first one is made.
func (f *topFolder) wantsSum(ctx context.Context, s *boardNews, added bool, now time.Time) (bool, error) {
	stored, err := f.glance(ctx, dynamo.Key(s.PK(), schema.SumSK))
	if err != nil {
		return false, err
	}
	if len(stored) == 0 || dynamo.Expired(stored, now) {
		top, known := f.settled.Get(s.PK())
		return known && !top.reach.Whole(), nil
	}
	sum, err := parts.HistogramPart(stored, now)
	return added || sum != nil || err != nil, nil // one that can't be read is replaced
}

// glance reads an item of the rollups table, eventually consistently.
func (f *topFolder) glance(ctx context.Context, key dynamo.Item) (dynamo.Item, error) {
	out, err := f.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &f.table, Key: key})
	if err != nil {
		return nil, fmt.Errorf("reading %q, %q: %w", dynamo.Text(key, schema.PK), dynamo.Text(key, schema.SK), err)
	}
	return out.Item, nil
}

// refresh stores the sum of a histogram's fragments. It notes a first sum again: containers may
// take it for absent, and note no folds.
func (f *looker) refresh(ctx context.Context, n *due) error {
	begun, err := parts.NewHistograms(f.client, f.table, f.now).Refresh(ctx, f.client, n.Key(), n.SumKey(), f.few)
	if begun {
		err = NoteSum(ctx, f.client, f.table, n.Board, n.Label, f.now())
	}
	return err
}
