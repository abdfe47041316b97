package fold

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/board"
)

// storedTop is a top as it was read or written.
type storedTop struct {
	*board.Top
	version  int64 // 0 if there is no top, or its version can't be read
	lifetime lifetime
	damaged  dynamo.Item // the item, if it can't be read
}

// parseTop returns the top of an item. Without an item the period counts as new, because every
// entry's record arrives. That may be wrong, so a top built on it is rechecked.
func parseTop(item dynamo.Item) (s storedTop, err error) {
	if len(item) == 0 {
		return storedTop{Top: board.NewTop()}, nil
	}
	version, known := dynamo.Whole(item, schema.TopVersion)
	s.version = version
	if !known || version < 1 {
		return s, fmt.Errorf("its %s is not a whole number from 1 on", schema.TopVersion)
	}
	expires := dynamo.Digits(item, schema.ExpiresAt)
	if s.lifetime, err = lifetimeOf(expires, expires != ""); err != nil {
		return s, err
	}
	s.Top, err = board.StoredTop(item)
	return s, err
}

// load reads a top consistently: only the top as it is after the record was written shows whether
// the record changes it. A read costs a twentieth of a write.
func (f *topFolder) load(ctx context.Context, s *boardNews) (storedTop, error) {
	item, err := dynamo.Get(ctx, f.client, f.table, s.PK(), schema.TopSK)
	if err != nil {
		return storedTop{}, fmt.Errorf("reading the item: %w", err)
	}
	return f.found(s, item), nil
}

// found returns the top of an item. A damaged top counts as empty: it is rebuilt from the index,
// and replaced.
func (f *topFolder) found(s *boardNews, item dynamo.Item) storedTop {
	top, err := parseTop(item)
	if err == nil {
		return top
	}
	f.log.Error("a top can't be read: it is made anew", "board", s.Board, "period", s.Label, "error", err)
	return storedTop{Top: board.UnknownTop(), version: max(0, top.version), lifetime: top.lifetime, damaged: item}
}

// next returns the top that replaces s. Its first version is the clock's microsecond, so no
// container caches the version of a top that was deleted and created again.
func (s storedTop) next(top *board.Top, longer lifetime, now time.Time) storedTop {
	next := storedTop{Top: top, version: s.version + 1, lifetime: s.lifetime.with(longer)}
	if s.version == 0 {
		next.version = now.UnixMicro()
	}
	return next
}

// store replaces a top by the result of change, and stores nothing if they are equal. It notes a
// top that covers more than before twice: before the store, because the process may die in between,
// and after it, because a recheck may have deleted the note.
func (f *topFolder) store(ctx context.Context, s *boardNews, top *storedTop, change func(storedTop) (*board.Top, error), mostLost int) (stored bool, err error) {
	var next storedTop
	wider, lost := false, 0
	err = dynamo.Guarded(ctx, f.client, mostLost+1, func() (*dynamodb.UpdateItemInput, error) {
		to, err := change(*top)
		stored = err == nil && !to.Same(top.Top)
		if !stored {
			return nil, err
		}
		next = top.next(to, s.lifetime, f.now())
		wider = top.version == 0 || to.Wider(top.Reach)
		if wider {
			err = f.note(ctx, s)
		}
		return f.update(s, *top, next), err
	}, func(found dynamo.Item) (err error) {
		lost++
		*top, err = f.wait(ctx, s, f.found(s, found), lost)
		return err
	})
	if stored && wider { // after an error the outcome may be unknown
		err = errors.Join(err, f.note(ctx, s))
	}
	if stored && err == nil {
		*top = next
	}
	return stored, err
}

// wait lets other folds store theirs. After the first failed condition it returns at once, with the
// top that the failure returned.
func (f *topFolder) wait(ctx context.Context, s *boardNews, top storedTop, lost int) (storedTop, error) {
	if lost == 1 {
		return top, nil
	}
	const first, most = 10 * time.Millisecond, 500 * time.Millisecond
	pause := min(first<<min(lost, 10), most)
	if !dynamo.Pause(ctx, rand.N(pause)) {
		return top, ctx.Err()
	}
	return f.load(ctx, s)
}

// update returns the update that stores a top, if it is still as it was read. A damaged top is
// compared as a whole, because its version may be anything.
func (f *topFolder) update(s *boardNews, was, next storedTop) *dynamodb.UpdateItemInput {
	attributes := []string{schema.Version, schema.TopVersion, schema.TopPlaces, schema.TopWhole, schema.AsOf}
	update := "SET #v = :next_v, #version = :next_version, #places = :next_places, #whole = :next_whole, #as_of = :next_as_of"
	condition, names, values := dynamo.Unchanged(was.damaged, attributes...)
	switch {
	case was.damaged != nil:
	case was.version == 0:
		condition, values = aws.String("attribute_not_exists(#version)"), nil
	default:
		condition, values = aws.String("#version = :was"), dynamo.Item{":was": dynamo.Number(was.version)}
	}
	if values == nil {
		values = dynamo.Item{}
	}
	maps.Copy(values, dynamo.Item{
		":next_v":       dynamo.Decimal(schema.BoardVersion),
		":next_version": dynamo.Number(next.version),
		":next_places":  &types.AttributeValueMemberB{Value: next.Bytes()},
		":next_whole":   &types.AttributeValueMemberBOOL{Value: next.Whole()},
		":next_as_of":   dynamo.Number(f.now().UnixMilli()),
	})
	if next.lifetime.end.IsZero() {
		update += " REMOVE expires_at"
	} else {
		update += ", expires_at = :expires"
		values[":expires"] = dynamo.Number(next.lifetime.end.Unix())
	}
	return &dynamodb.UpdateItemInput{
		TableName: &f.table, Key: dynamo.Key(s.PK(), schema.TopSK),
		UpdateExpression: &update, ConditionExpression: condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}
}
