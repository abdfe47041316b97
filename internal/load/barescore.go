package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/workload"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// maxOutrun bounds how often others may write an entry between its reading and its
// write: some times as often as there can be others.
const maxOutrun = 10 * MaxConcurrency

// addScore adds a request's bytes to its player's entry. The entry's place in the
// index goes by the sum, so it is read, and written on condition that it still is
// what was read.
func (b *Bare) addScore(ctx context.Context, board string, r workload.Request) error {
	pk, sk := schema.EntryKey(board, string(boards.AllTime), r.Player())
	key := map[string]types.AttributeValue{schema.PK: text(pk), schema.SK: text(sk)}
	out, err := b.Client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &b.Table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return err
	}
	held := out.Item
	for range maxOutrun {
		if len(held) > 0 && r.Bytes == 0 {
			return nil // as the API, which writes nothing then
		}
		put, err := b.entryPut(key, board, r, held)
		if err != nil {
			return err
		}
		_, err = b.Client.PutItem(ctx, put)
		outrun, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
		if !ok {
			return err
		}
		held = outrun.Item
	}
	return fmt.Errorf("others wrote the entry first %d times", maxOutrun)
}

// entryPut is the write of an entry that was held with this item, empty for none.
func (b *Bare) entryPut(key map[string]types.AttributeValue, board string, r workload.Request, held map[string]types.AttributeValue) (*dynamodb.PutItemInput, error) {
	now := time.Now().UTC()
	put := &dynamodb.PutItemInput{
		TableName: &b.Table, ConditionExpression: aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	sum, rev := r.Bytes, now.UnixMicro()
	if len(held) > 0 {
		before, err := integer(held, schema.EntryScore)
		last, err2 := integer(held, schema.EntryRev)
		if err = errors.Join(err, err2); err != nil {
			return nil, err
		}
		sum, rev = sum+before, last+1
		put.ConditionExpression = aws.String("rev = :rev")
		put.ExpressionAttributeValues = map[string]types.AttributeValue{":rev": number(last)}
	}
	score, err := boards.ParseScore(strconv.FormatInt(sum, 10))
	if err != nil {
		return nil, err
	}
	put.Item = map[string]types.AttributeValue{
		schema.PK: key[schema.PK], schema.SK: key[schema.SK],
		schema.EntryScore: number(sum), schema.EntryAt: number(now.UnixMilli()), schema.EntryRev: number(rev),
		schema.BoardShard: text(schema.BoardShardKey(board, string(boards.AllTime), 0)),
		schema.RankKey:    text(boards.Place{Player: r.Player(), Score: score, At: now}.RankKey()),
	}
	return put, nil
}

func integer(item map[string]types.AttributeValue, name string) (int64, error) {
	n, _ := item[name].(*types.AttributeValueMemberN)
	if n == nil {
		return 0, fmt.Errorf("the entry has no number %q", name)
	}
	return strconv.ParseInt(n.Value, 10, 64)
}
