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

// noteFolded notes, after a fold into a fragment, that the stored sum lacks the fold. added means that
// the fragment counted nothing before.
//
// A note that is at most half the recheck age old covers this fold: the task deletes the note only
// after it read the fragments at least the recheck age after the note's time. If no sum needs the
// fold, noteFolded caches that for the same time, and refreshSum notes a first sum again.
func (f *topFolder) noteFolded(ctx context.Context, s *boardChanges, added bool) error {
	now, maxAge := f.now().Round(0), f.recheck/2
	until, _ := f.noted.Get(s.PK())
	if left := until.Sub(now); !added && left > 0 && left <= maxAge {
		return nil
	}
	note, err := f.getItem(ctx, dynamo.Key(schema.SumNoteKey(s.Board, s.Label)))
	if err != nil {
		return err
	}
	last, _ := dynamo.Millis(note, schema.NoteLast)
	if now.Sub(last) >= maxAge {
		wanted, err := f.wantsSum(ctx, s, added, now)
		if wanted {
			err = NoteSum(ctx, f.client, f.table, s.Board, s.Label, now)
		}
		if err != nil {
			return err
		}
		last = now
	}
	f.noted.Set(s.PK(), last.Add(maxAge))
	return nil
}

// wantsSum reports whether a period's sum must be refreshed after a fold. If there is no sum, it
// reports true only if the top is cached and not whole: readers of a whole top need no sum.
func (f *topFolder) wantsSum(ctx context.Context, s *boardChanges, added bool, now time.Time) (bool, error) {
	stored, err := f.getItem(ctx, dynamo.Key(s.PK(), schema.SumSK))
	if err != nil {
		return false, err
	}
	if len(stored) == 0 || dynamo.Expired(stored, now) {
		top, known := f.settled.Get(s.PK())
		return known && !top.reach.Whole(), nil
	}
	sum, err := parts.HistogramPart(stored, now)
	return added || sum != nil || err != nil, nil // an unreadable sum is replaced
}

// getItem reads an item of the rollups table with an eventually consistent read.
func (f *topFolder) getItem(ctx context.Context, key dynamo.Item) (dynamo.Item, error) {
	out, err := f.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &f.table, Key: key})
	if err != nil {
		return nil, fmt.Errorf("reading %q, %q: %w", dynamo.Text(key, schema.PK), dynamo.Text(key, schema.SK), err)
	}
	return out.Item, nil
}

// refreshSum stores the sum of a histogram's fragments. It notes a first sum again, because containers
// may have cached that there is none, and note no folds.
func (f *recheckTask) refreshSum(ctx context.Context, n *dueNote) error {
	begun, err := parts.NewHistograms(f.client, f.table, f.now).Refresh(ctx, f.client, n.Key(), n.SumKey(), f.fewFragments)
	if begun {
		err = NoteSum(ctx, f.client, f.table, n.Board, n.Label, f.now())
	}
	return err
}
