package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/rollup/histogram"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
)

// Cleared is what became of the summaries of a board's period.
type Cleared struct {
	Summaries int   // that were deleted, or emptied
	Kept      int64 // entries that were written meanwhile
	// Unsure says, of what is kept, why it is not known that the histogram counts it and
	// nothing else; "" if it is known.
	Unsure string
	Left   string // why it was not done; "" for done
}

// Clear deletes the top and empties the histogram of a board's period whose entries
// were deleted, by that time at the latest. It needs Options.Repair.
//
// It waits for the folds of that. If they don't make the summaries agree with the
// index, it repairs them, as Check does. What was written meanwhile is kept, and then
// the summaries are, too, once the top has nobody who is gone.
func (a *Auditor) Clear(ctx context.Context, name, period string, deleted time.Time) (c Cleared, err error) {
	s := standing{name, period}
	settled := deleted.Add(a.o.IndexLag) // the index shows nothing any more that was deleted
	deadline := a.o.Now().Add(a.o.Wait)
	if settled.After(deadline) {
		deadline = settled
	}
	for {
		if done, err := a.clearOnce(ctx, s, settled, &c); done || err != nil {
			return c, err
		}
		if !a.o.Now().Before(deadline) {
			break
		}
		if err := a.pause(ctx); err != nil {
			return c, err
		}
	}
	result, err := a.board(ctx, s)
	if err == nil {
		err = a.clearProved(ctx, s, result, &c)
	}
	return c, err
}

// clearOnce clears what agrees with the index. Not done is what is to be looked at
// again.
func (a *Auditor) clearOnce(ctx context.Context, s standing, settled time.Time, c *Cleared) (done bool, err error) {
	now := a.o.Now()
	k, entries, err := a.readBoth(ctx, s)
	if err != nil {
		return false, err
	}
	c.Kept = entries.n // which may be fewer than at the last look
	switch {
	case entries.fault != nil || len(k.compare(entries)) > 0:
		return false, nil
	case entries.n == 0:
		return a.tidy(ctx, s, k, c)
	}
	return !now.Before(settled), nil
}

func (a *Auditor) readBoth(ctx context.Context, s standing) (*kept, *ranking, error) {
	k, err := a.readKept(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	entries, err := a.readRanking(ctx, s, k.places())
	return k, entries, err
}

// clearProved clears what differed from the index, after an audit of it.
func (a *Auditor) clearProved(ctx context.Context, s standing, result Result, c *Cleared) error {
	moving := result.Open() || result.only(Busy)
	if !result.Right() && !moving {
		f := result.Findings[0]
		c.Left = cmp.Or(f.Detail, "its summaries expire within ten minutes")
		return nil
	}
	k, entries, err := a.readBoth(ctx, s)
	if err != nil {
		return err
	}
	if c.Kept = entries.n; entries.n == 0 {
		done := false
		if !moving && !k.cellsDiffer(entries) {
			done, err = a.tidy(ctx, s, k, c)
		}
		if !done {
			c.Left = "it is being folded into"
		}
		return err
	}
	gone, err := a.strangers(ctx, s, k)
	if err != nil {
		return err
	}
	if gone > 0 {
		c.Left = fmt.Sprintf("the top has %d players who are gone: the aggregator looks at it again within minutes", gone)
		return rollup.NoteBoard(ctx, a.client, a.o.Names.Rollups, s.board, s.period, a.o.Now())
	}
	if moving {
		c.Unsure = result.Findings[0].Detail
	}
	return nil
}

// strangers counts the players in a top who have no entry.
func (a *Auditor) strangers(ctx context.Context, s standing, k *kept) (int64, error) {
	if k.top == nil {
		return 0, nil
	}
	var n atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for _, e := range k.top.Entries() {
		group.Go(func() error {
			pk, sk := schema.EntryKey(s.board, s.period, e.Player)
			it, err := a.get(ctx, a.o.Names.Items, pk, sk)
			if err == nil && len(it) == 0 {
				n.Add(1)
			}
			return err
		})
	}
	err := group.Wait()
	return n.Load(), err
}

// tidy leaves nothing of a period without entries but its histogram's sequence numbers.
// Not done means that something was folded meanwhile.
func (a *Auditor) tidy(ctx context.Context, s standing, k *kept, c *Cleared) (done bool, err error) {
	if slices.ContainsFunc(k.parts, counts) {
		replaced, err := a.cells.Replace(ctx, s.board, s.period, k.parts, (&ranking{}).total(a.o.Now()), nil)
		switch {
		case errors.Is(err, histogram.ErrTooMany):
			_, err := a.squeeze(ctx, s, k.parts)
			return false, err
		case errors.Is(err, parts.ErrMoved):
			return false, nil
		case err != nil:
			return false, err
		}
		c.Summaries += replaced.Emptied
	}
	if len(k.stored) == 0 {
		return true, nil
	}
	done, err = a.deleteTop(ctx, s, k)
	if done {
		c.Summaries++
	}
	return done, err
}

// counts tells whether a part has something beside its sequence number. Of several, what
// they have may come to nothing.
func counts(p histogram.Part) bool {
	empty := p.Emptied() || p.StreamShard == schema.MergedPart && p.ExpiresAt != 0 && p.Cells.Cells() == 0
	return p.Damage != nil || !empty
}

// deleteTop deletes the top of a period without entries, as it was read. One that is
// whole and has none says what no top says. Any other is noted before that: lest it has
// ignored an entry that the index doesn't have yet.
func (a *Auditor) deleteTop(ctx context.Context, s standing, k *kept) (done bool, err error) {
	if k.top == nil || !k.top.Whole() || len(k.top.Entries()) > 0 {
		if err := rollup.NoteBoard(ctx, a.client, a.o.Names.Rollups, s.board, s.period, a.o.Now()); err != nil {
			return false, err
		}
	}
	condition, names, values := k.topUnchanged()
	_, err = a.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &a.o.Names.Rollups, Key: attribute.Key(s.pk(), schema.TopSK),
		ConditionExpression: &condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	if _, refused := errors.AsType[*types.ConditionalCheckFailedException](err); refused {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("deleting the top of %q: %w", s.pk(), err)
	}
	return true, nil
}

// topUnchanged is the condition that the top is as it was read. A damaged one may have
// any version, or none.
func (k *kept) topUnchanged() (condition string, names map[string]string, values item) {
	conditions := []string{"attribute_exists(pk)"}
	names = map[string]string{}
	for _, name := range []string{schema.TopVersion, schema.TopPlaces, schema.TopWhole} {
		names["#"+name] = name
		if k.stored[name] == nil {
			conditions = append(conditions, "attribute_not_exists(#"+name+")")
			continue
		}
		if values == nil {
			values = item{}
		}
		conditions, values[":"+name] = append(conditions, "#"+name+" = :"+name), k.stored[name]
	}
	return strings.Join(conditions, " AND "), names, values
}
