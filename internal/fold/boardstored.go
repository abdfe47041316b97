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
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// storedTop is a top as it was read or written.
type storedTop struct {
	*parts.Top
	version  int64 // 0 if there is no top, or its version can't be read
	lifetime lifetime
	damaged  dynamo.Item // the item, if it can't be read
}

// parseTop returns the top in an item, or an error if the item is damaged. Without an item it returns the top of a new
// period, which has no entries and is whole.
func parseTop(item dynamo.Item) (s storedTop, err error) {
	if len(item) == 0 {
		return storedTop{Top: parts.NewTop()}, nil
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
	s.Top, err = parts.StoredTop(item)
	return s, err
}

// loadTop reads a top with a strongly consistent read: only a top that is read after a record was written shows whether the
// record changes it.
func (f *topFolder) loadTop(ctx context.Context, s *boardChanges) (storedTop, error) {
	item, err := dynamo.Get(ctx, f.client, f.table, s.PK(), schema.TopSK)
	if err != nil {
		return storedTop{}, fmt.Errorf("reading the item: %w", err)
	}
	return f.topOf(s, item), nil
}

// topOf returns the top in an item. For a damaged item it returns a top that covers nothing, so that the fold rebuilds the
// top from the index.
func (f *topFolder) topOf(s *boardChanges, item dynamo.Item) storedTop {
	top, err := parseTop(item)
	if err == nil {
		return top
	}
	f.log.Error("a top can't be read: it is rebuilt from the index", "board", s.Board, "period", s.Label, "error", err)
	return storedTop{Top: parts.UnknownTop(), version: max(0, top.version), lifetime: top.lifetime, damaged: item}
}

// nextTop returns the top that replaces s, with the next version. The first version is the clock's time in microseconds. So
// a top that is deleted and created again has a version that no container has cached.
func (s storedTop) nextTop(top *parts.Top, l lifetime, now time.Time) storedTop {
	next := storedTop{Top: top, version: s.version + 1, lifetime: s.lifetime.longer(l)}
	if s.version == 0 {
		next.version = now.UnixMicro()
	}
	return next
}

// storeTop replaces a top by the result of change, and sets *top to the stored top. If both tops are equal, it stores
// nothing. After more than mostLost failed conditions it returns ErrOutrun. If the new top is the first or covers more
// places, storeTop notes a recheck twice: before the write, because the process may die after it, and after the write,
// because another recheck may have deleted the first note.
func (f *topFolder) storeTop(ctx context.Context, s *boardChanges, top *storedTop, change func(storedTop) (*parts.Top, error), mostLost int) (stored bool, err error) {
	var next storedTop
	wider, lost := false, 0 // next is the first top or covers more places than *top; number of failed conditions
	err = dynamo.UpdateGuarded(ctx, f.client, mostLost+1, func() (*dynamodb.UpdateItemInput, error) {
		changed, err := change(*top)
		stored = err == nil && !changed.Same(top.Top)
		if !stored {
			return nil, err
		}
		next = top.nextTop(changed, s.lifetime, f.now())
		wider = top.version == 0 || changed.Exceeds(top.Reach)
		if wider {
			err = f.noteRecheck(ctx, s)
		}
		return f.updateTop(s, *top, next), err
	}, func(found dynamo.Item) (err error) {
		lost++
		*top, err = f.awaitOthers(ctx, s, f.topOf(s, found), lost)
		return err
	})
	if stored && wider { // also after an error, whose outcome may be unknown
		err = errors.Join(err, f.noteRecheck(ctx, s))
	}
	if stored {
		*top = next
	}
	return stored, err
}

// awaitOthers waits a random time for other folds, longer after each failed condition, and reads the top again. After the
// first failed condition it returns at once, with the top that DynamoDB returned.
func (f *topFolder) awaitOthers(ctx context.Context, s *boardChanges, top storedTop, lost int) (storedTop, error) {
	if lost == 1 {
		return top, nil
	}
	const first, most = 10 * time.Millisecond, 500 * time.Millisecond
	pause := min(first<<min(lost, 10), most)
	if !dynamo.Pause(ctx, rand.N(pause)) {
		return top, ctx.Err()
	}
	return f.loadTop(ctx, s)
}

// updateTop returns the update that replaces the top was by next, on the condition that was is still stored. If was is
// damaged, the condition compares all attributes, since the version may not have been raised.
func (f *topFolder) updateTop(s *boardChanges, was, next storedTop) *dynamodb.UpdateItemInput {
	attributes := []string{schema.Version, schema.TopVersion, schema.TopPlaces, schema.TopWhole, schema.AsOf}
	update := "SET #v = :next_v, #version = :next_version, #places = :next_places, #whole = :next_whole, #as_of = :next_as_of"
	condition, names, values := dynamo.UnchangedCondition(was.damaged, attributes...) // the names are used in each case
	switch {
	case was.damaged != nil: // so are the other two
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
