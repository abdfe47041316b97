package rollup

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
)

// storedTop is a top as it was read or written.
type storedTop struct {
	*board.Top
	version  int64 // 0: there is none, or one of which it can't be read
	lifetime lifetime
	damaged  map[string]types.AttributeValue // the item, if it can't be read
}

// parseTop reads a top's item. Without one the board's period had no entries yet:
// every entry's record comes. That may be wrong, so what is made of it is looked at.
func parseTop(item map[string]types.AttributeValue) (s storedTop, err error) {
	if len(item) == 0 {
		return storedTop{Top: board.NewTop()}, nil
	}
	attr := numberIn(item)
	version, _ := attr(schema.TopVersion)
	if s.version, err = strconv.ParseInt(version, 10, 64); err != nil || s.version < 1 {
		return s, fmt.Errorf("its %s is %.40q", schema.TopVersion, version)
	}
	if s.lifetime, err = lifetimeOf(attr(schema.ExpiresAt)); err != nil {
		return s, err
	}
	s.Top, err = board.StoredTop(item)
	return s, err
}

// load reads a top, consistently: what a record doesn't change is only known from
// the top as it is after the record was written. It costs a twentieth of a write.
func (f *topFolder) load(ctx context.Context, s *standing) (storedTop, error) {
	out, err := f.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &f.table, Key: attribute.Key(s.pk(), schema.TopSK), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return storedTop{}, fmt.Errorf("reading it: %w", err)
	}
	return f.found(s, out.Item), nil
}

// found reads the item of a top. One that can't be read is known to be nothing: it is
// made anew from the index, in its place.
func (f *topFolder) found(s *standing, item map[string]types.AttributeValue) storedTop {
	top, err := parseTop(item)
	if err == nil {
		return top
	}
	f.log.Error("a top can't be read: it is made anew", "board", s.board, "period", s.period, "error", err)
	return storedTop{Top: board.UnknownTop(), version: max(0, top.version), lifetime: top.lifetime, damaged: item}
}

// store writes a top anew, on condition that it still is as it was read. If so it
// returns what is stored now; if not, what is there instead, and that it has lost.
func (f *topFolder) store(ctx context.Context, s *standing, was storedTop, next *board.Top) (now storedTop, won bool, err error) {
	now = storedTop{Top: next, version: f.after(was), lifetime: was.lifetime.with(s.lifetime)}
	_, err = f.client.UpdateItem(ctx, f.update(s, was, now))
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return f.found(s, refused.Item), false, nil
	}
	if err != nil {
		return storedTop{}, false, fmt.Errorf("storing it: %w", err)
	}
	return now, true, nil
}

// after is the version that follows one. The first is the clock's microsecond, so that
// a top that was deleted and made again has no version that any container remembers.
func (f *topFolder) after(was storedTop) int64 {
	if was.version == 0 {
		return f.now().UnixMicro()
	}
	return was.version + 1
}

func (f *topFolder) update(s *standing, was, next storedTop) *dynamodb.UpdateItemInput {
	update := "SET #v = :v, #version = :version, #places = :places, #whole = :whole, #at = :at"
	values := map[string]types.AttributeValue{
		":v":       &types.AttributeValueMemberN{Value: schema.BoardVersion},
		":version": attribute.Number(next.version),
		":places":  &types.AttributeValueMemberB{Value: next.Bytes()},
		":whole":   &types.AttributeValueMemberBOOL{Value: next.Whole()},
		":at":      attribute.Number(f.now().UnixMilli()),
	}
	if next.lifetime.end.IsZero() {
		update += " REMOVE #expires"
	} else {
		update += ", #expires = :expires"
		values[":expires"] = attribute.Number(next.lifetime.end.Unix())
	}
	condition := was.unchanged(values)
	return &dynamodb.UpdateItemInput{
		TableName: &f.table, Key: attribute.Key(s.pk(), schema.TopSK),
		UpdateExpression: &update, ConditionExpression: &condition,
		ExpressionAttributeNames: map[string]string{
			"#v": schema.Version, "#version": schema.TopVersion, "#places": schema.TopPlaces,
			"#whole": schema.TopWhole, "#at": schema.AsOf, "#expires": schema.ExpiresAt,
		},
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// unchanged is the condition that a top still is as it was read, with its values. A
// damaged one is compared as a whole, since its version may be anything.
func (s storedTop) unchanged(values map[string]types.AttributeValue) string {
	switch {
	case s.damaged == nil && s.version == 0:
		return "attribute_not_exists(#version)"
	case s.damaged == nil:
		values[":was"] = attribute.Number(s.version)
		return "#version = :was"
	}
	var same []string
	for name, attribute := range map[string]string{"#v": schema.Version, "#version": schema.TopVersion, "#places": schema.TopPlaces, "#whole": schema.TopWhole, "#at": schema.AsOf} {
		if s.damaged[attribute] == nil {
			same = append(same, "attribute_not_exists("+name+")")
			continue
		}
		value := strings.Replace(name, "#", ":was_", 1)
		values[value], same = s.damaged[attribute], append(same, name+" = "+value)
	}
	return strings.Join(same, " AND ")
}
