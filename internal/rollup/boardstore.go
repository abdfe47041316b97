package rollup

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
)

// storedTop is a top as it was read or written.
type storedTop struct {
	*board.Top
	version  int64 // 0: there is none
	lifetime lifetime
}

// parseTop reads a top's item. Without one the board's period had no entries yet:
// every entry's record comes.
func parseTop(item map[string]types.AttributeValue) (s storedTop, err error) {
	if len(item) == 0 {
		return storedTop{Top: board.NewTop()}, nil
	}
	attr := numberIn(item)
	if v, _ := attr(schema.Version); v != schema.BoardVersion {
		return s, fmt.Errorf("it has version %.20q, and %s can be read", v, schema.BoardVersion)
	}
	places, _ := item[schema.TopPlaces].(*types.AttributeValueMemberB)
	whole, _ := item[schema.TopWhole].(*types.AttributeValueMemberBOOL)
	if places == nil || whole == nil {
		return s, errors.New("it lacks its places, or whether it is whole")
	}
	version, _ := attr(schema.TopVersion)
	if s.version, err = strconv.ParseInt(version, 10, 64); err != nil || s.version < 1 {
		return s, fmt.Errorf("its %s is %.40q", schema.TopVersion, version)
	}
	if s.lifetime, err = lifetimeOf(attr(schema.ExpiresAt)); err != nil {
		return s, err
	}
	s.Top, err = board.ParseTop(places.Value, whole.Value)
	return s, err
}

// load reads a top, consistently: what a record doesn't change is only known from
// the top as it is after the record was written. It costs a twentieth of a write.
func (f *topFolder) load(ctx context.Context, s *standing) (storedTop, error) {
	out, err := f.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &f.table, Key: itemKey(s.pk(), schema.TopSK), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return storedTop{}, fmt.Errorf("reading it: %w", err)
	}
	return readable(parseTop(out.Item))
}

func readable(s storedTop, err error) (storedTop, error) {
	if err != nil {
		return s, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return s, nil
}

// store writes a top anew, on condition that it still is as it was read. If so it
// returns what is stored now; if not, what is there instead, and that it has lost.
func (f *topFolder) store(ctx context.Context, s *standing, was storedTop, next *board.Top) (now storedTop, won bool, err error) {
	now = storedTop{Top: next, version: f.after(was), lifetime: was.lifetime.with(s.lifetime)}
	_, err = f.client.UpdateItem(ctx, f.update(s, was.version, now))
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		now, err = readable(parseTop(refused.Item))
		return now, false, err
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

func (f *topFolder) update(s *standing, was int64, next storedTop) *dynamodb.UpdateItemInput {
	update := "SET #v = :v, #version = :version, #places = :places, #whole = :whole, #at = :at"
	values := map[string]types.AttributeValue{
		":v":       &types.AttributeValueMemberN{Value: schema.BoardVersion},
		":version": number(next.version),
		":places":  &types.AttributeValueMemberB{Value: next.Bytes()},
		":whole":   &types.AttributeValueMemberBOOL{Value: next.Whole()},
		":at":      number(f.now().UnixMilli()),
	}
	if next.lifetime.end.IsZero() {
		update += " REMOVE #expires"
	} else {
		update += ", #expires = :expires"
		values[":expires"] = number(next.lifetime.end.Unix())
	}
	condition := "attribute_not_exists(#version)"
	if was > 0 {
		condition = "#version = :was"
		values[":was"] = number(was)
	}
	return &dynamodb.UpdateItemInput{
		TableName: &f.table, Key: itemKey(s.pk(), schema.TopSK),
		UpdateExpression: &update, ConditionExpression: &condition,
		ExpressionAttributeNames: map[string]string{
			"#v": schema.Version, "#version": schema.TopVersion, "#places": schema.TopPlaces,
			"#whole": schema.TopWhole, "#at": schema.AsOf, "#expires": schema.ExpiresAt,
		},
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}
