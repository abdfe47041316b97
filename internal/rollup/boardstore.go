package rollup

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
)

// storedTop is a top as it was read or written.
type storedTop struct {
	*board.Top
	version  int64 // 0: there is none, or one of which it can't be read
	lifetime lifetime
	damaged  dynamo.Item // the item, if it can't be read
}

// parseTop reads a top's item. Without one the board's period had no entries yet:
// every entry's record comes. That may be wrong, so what is made of it is looked at.
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

// load reads a top, consistently: what a record doesn't change is only known from
// the top as it is after the record was written. It costs a twentieth of a write.
func (f *topFolder) load(ctx context.Context, s *boardNews) (storedTop, error) {
	item, err := dynamo.Get(ctx, f.client, f.table, s.PK(), schema.TopSK)
	if err != nil {
		return storedTop{}, fmt.Errorf("reading it: %w", err)
	}
	return f.found(s, item), nil
}

// found reads the item of a top. One that can't be read is known to be nothing: it is
// made anew from the index, in its place.
func (f *topFolder) found(s *boardNews, item dynamo.Item) storedTop {
	top, err := parseTop(item)
	if err == nil {
		return top
	}
	f.log.Error("a top can't be read: it is made anew", "board", s.Board, "period", s.Label, "error", err)
	return storedTop{Top: board.UnknownTop(), version: max(0, top.version), lifetime: top.lifetime, damaged: item}
}

// next is what is stored of a top that takes the place of another. The first version is
// the clock's microsecond, so that a top that was deleted and made again has no version
// that any container remembers.
func (s storedTop) next(top *board.Top, longer lifetime, now time.Time) storedTop {
	next := storedTop{Top: top, version: s.version + 1, lifetime: s.lifetime.with(longer)}
	if s.version == 0 {
		next.version = now.UnixMicro()
	}
	return next
}

// update stores a top, on condition that it still is as it was read. A damaged one is
// compared as a whole, since its version may be anything.
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
