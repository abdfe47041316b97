package erase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
)

// clearBoard takes the tops and histograms of all the board's periods out of the
// rollups table, once the aggregator has folded that their entries are gone.
func (t *task) clearBoard(ctx context.Context) error {
	var mu sync.Mutex
	periods := map[string]bool{}
	err := t.scanRollups(ctx, func(it item) {
		target, err := schema.ParseTarget(textOf(it, schema.PK))
		if err == nil && target.Base == t.base {
			mu.Lock()
			defer mu.Unlock()
			periods[textOf(it, schema.PK)] = true
		}
	})
	if err != nil {
		return err
	}
	deadline := t.o.Now().Add(t.o.Wait)
	for pk := range periods {
		for {
			why, err := t.clearPeriod(ctx, pk)
			if err != nil {
				return err
			}
			if why == "" {
				break
			}
			if !t.o.Now().Before(deadline) {
				t.left("the summaries of %q: %s", pk, why)
				break
			}
			if err := pause(ctx, t.o.Poll); err != nil {
				return err
			}
		}
	}
	return nil
}

// standing is what the rollups table has of a board's period.
type standing struct {
	top     item // nil for none
	parts   []item
	entries int // in the top
	whole   bool
	cells   board.Histogram // of all parts
	full    bool            // some part is not as emptyHistogram leaves it
	expired []item          // what TTL is late with
}

func (t *task) expired(it item) bool {
	at, ok := wholeOf(it, schema.ExpiresAt)
	return ok && at.Int64() <= t.o.Now().Unix()
}

func (t *task) standing(ctx context.Context, pk string) (*standing, error) {
	s := &standing{}
	err := t.query(ctx, t.o.Names.Rollups, pk, "", func(list []item) error {
		for _, it := range list {
			if t.expired(it) {
				s.expired = append(s.expired, it)
			} else if err := s.take(it); err != nil {
				return fmt.Errorf("%q, %q: %w", pk, textOf(it, schema.SK), err)
			}
		}
		return nil
	})
	return s, err
}

func (s *standing) take(it item) error {
	sk := textOf(it, schema.SK)
	if sk == schema.TopSK {
		top, err := board.StoredTop(it)
		if err != nil {
			return err
		}
		s.top, s.entries, s.whole = it, len(top.Entries()), top.Whole()
		return nil
	}
	if !strings.HasPrefix(sk, schema.HistogramPrefix) {
		return nil
	}
	part, err := board.StoredHistogram(it)
	if err != nil {
		return err
	}
	s.parts = append(s.parts, it)
	s.full = s.full || part.Cells() > 0 || !strings.HasSuffix(textOf(it, schema.RollupSequence), schema.EmptiedSuffix)
	s.cells.Merge(part)
	return nil
}

// clearPeriod deletes a period's top and empties its histogram, or says why it can't.
//
// A top that is whole and has no entries says what no top at all says, so it can be
// deleted at any time: a fold that comes later starts from the same. Parts of a
// histogram must stay for their sequence numbers, and lose their cells together, when
// these cancel each other out.
func (t *task) clearPeriod(ctx context.Context, pk string) (why string, err error) {
	s, err := t.standing(ctx, pk)
	if err != nil {
		return "", err
	}
	for _, it := range s.expired { // entries that expired are not folded as removed
		if err := t.deleteExpired(ctx, it); err != nil {
			return changed(err)
		}
	}
	switch {
	case s.entries > 0:
		return fmt.Sprintf("%d entries are not folded as removed yet, or were written meanwhile", s.entries), nil
	case s.top != nil && !s.whole:
		return "the top is not known to be whole yet", nil
	case s.cells.Cells() > 0:
		return "the histogram still counts entries: it is not folded yet, or lacks records", nil
	}
	if s.top != nil {
		if err := t.deleteTop(ctx, pk, s.top); err != nil {
			return changed(err)
		}
		t.deleted(Summaries, 1)
	}
	if !s.full {
		return "", nil
	}
	if len(s.parts) > maxActions {
		return fmt.Sprintf("its histogram has %d parts, and one transaction can take %d", len(s.parts), maxActions), nil
	}
	if err := t.emptyHistogram(ctx, pk, s.parts); err != nil {
		return changed(err)
	}
	t.deleted(Summaries, len(s.parts))
	return "", nil
}

const maxActions = 100 // of a transaction

// changed turns a failed condition into a reason to look again.
func changed(err error) (why string, _ error) {
	_, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if refused || ok && slices.ContainsFunc(canceled.CancellationReasons, func(r types.CancellationReason) bool {
		code := aws.ToString(r.Code)
		return code == "ConditionalCheckFailed" || code == "TransactionConflict"
	}) {
		return "it is being folded into", nil
	}
	return "", err
}

func (t *task) deleteTop(ctx context.Context, pk string, top item) error {
	_, err := t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &t.o.Names.Rollups, Key: itemKey(pk, schema.TopSK), ConditionExpression: aws.String("#version = :was"),
		ExpressionAttributeNames:  map[string]string{"#version": schema.TopVersion},
		ExpressionAttributeValues: item{":was": top[schema.TopVersion]},
	})
	if err != nil {
		return fmt.Errorf("deleting the top of %q: %w", pk, err)
	}
	return nil
}

func (t *task) deleteExpired(ctx context.Context, it item) error {
	_, err := t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &t.o.Names.Rollups, Key: itemKey(textOf(it, schema.PK), textOf(it, schema.SK)),
		ConditionExpression: aws.String("expires_at = :was"), ExpressionAttributeValues: item{":was": it[schema.ExpiresAt]},
	})
	if err != nil {
		return fmt.Errorf("deleting %q, %q, which has expired: %w", textOf(it, schema.PK), textOf(it, schema.SK), err)
	}
	t.deleted(Summaries, 1)
	return nil
}

// emptyHistogram leaves nothing of a histogram's parts but their sequence numbers,
// which are changed, so that no fold goes on from what it remembers. They expire when no
// record can come again.
func (t *task) emptyHistogram(ctx context.Context, pk string, list []item) error {
	expires := number(t.o.Now().Add(schema.EmptiedLifetime).Unix())
	none := &types.AttributeValueMemberB{Value: board.Histogram{}.Bytes()}
	var actions []types.TransactWriteItem
	for _, part := range list {
		was := textOf(part, schema.RollupSequence)
		actions = append(actions, types.TransactWriteItem{Update: &types.Update{
			TableName: &t.o.Names.Rollups, Key: itemKey(pk, textOf(part, schema.SK)),
			UpdateExpression:          aws.String("SET seq = :seq, cells = :none, expires_at = :expires"),
			ConditionExpression:       aws.String("seq = :was"),
			ExpressionAttributeValues: item{":seq": text(was + schema.EmptiedSuffix), ":was": text(was), ":none": none, ":expires": expires},
		}})
	}
	_, err := t.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions})
	if err != nil {
		return fmt.Errorf("emptying the histogram of %q: %w", pk, err)
	}
	return nil
}
