package compact

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

type item = map[string]types.AttributeValue

// cursor is how far a round came.
type cursor struct {
	round  time.Time // its start
	pk, sk string    // the last item that was gone through; "" before the first
	done   bool
}

// age is how long ago the round started. A start in the future is of a clock that
// was wrong.
func (c cursor) age(now time.Time) time.Duration {
	if c.round.After(now) {
		return roundEvery
	}
	return now.Sub(c.round)
}

// startKey is where a scan goes on.
func (c cursor) startKey() item {
	if c.pk == "" {
		return nil
	}
	return itemKey(c.pk, c.sk)
}

func itemKey(pk, sk string) item {
	return item{schema.PK: text(pk), schema.SK: text(sk)}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// textOf returns an attribute of type S, "" for any other.
func textOf(from item, name string) string {
	s, _ := from[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// digitsOf returns an attribute of type N as it is, "" for any other.
func digitsOf(from item, name string) string {
	n, _ := from[name].(*types.AttributeValueMemberN)
	if n == nil {
		return ""
	}
	return n.Value
}

// wholeOf returns an attribute that is a whole number; ok is false for any other.
func wholeOf(from item, name string) (n int64, ok bool) {
	n, err := strconv.ParseInt(digitsOf(from, name), 10, 64)
	return n, err == nil
}

// timeOf returns an attribute with Unix milliseconds; ok is false for any other.
func timeOf(from item, name string) (t time.Time, ok bool) {
	ms, ok := wholeOf(from, name)
	return time.UnixMilli(ms), ok
}

// load reads the cursor. Without one that can be read a round starts: it does
// nothing twice.
func (c *Compactor) load(ctx context.Context) (cursor, error) {
	out, err := c.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &c.options.RollupsTable, ConsistentRead: aws.Bool(true), Key: itemKey(schema.CompactionPK, schema.SoleSK),
	})
	if err != nil {
		return cursor{}, fmt.Errorf("compact: reading the cursor: %w", err)
	}
	round, ok := timeOf(out.Item, schema.CompactionRound)
	if !ok || digitsOf(out.Item, schema.Version) != schema.CompactionVersion {
		return cursor{done: true}, nil
	}
	done, _ := out.Item[schema.CompactionDone].(*types.AttributeValueMemberBOOL)
	return cursor{
		round: round, done: done != nil && done.Value,
		pk: textOf(out.Item, schema.CompactionFromPK), sk: textOf(out.Item, schema.CompactionFromSK),
	}, nil
}

// saveTime bounds the save of a cursor, which is worth a moment after the end.
const saveTime = 2 * time.Second

func (c *Compactor) save(ctx context.Context, at cursor) error {
	stored := item{
		schema.Version:         &types.AttributeValueMemberN{Value: schema.CompactionVersion},
		schema.CompactionRound: number(at.round.UnixMilli()),
		schema.CompactionDone:  &types.AttributeValueMemberBOOL{Value: at.done},
	}
	maps.Copy(stored, itemKey(schema.CompactionPK, schema.SoleSK))
	if at.pk != "" {
		stored[schema.CompactionFromPK], stored[schema.CompactionFromSK] = text(at.pk), text(at.sk)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	_, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.options.RollupsTable, Item: stored})
	if err != nil {
		return fmt.Errorf("compact: saving the cursor: %w", err)
	}
	return nil
}
