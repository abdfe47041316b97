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

	"github.com/hotshard/hotshard/internal/dynamo"
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
	key := dynamo.Key(schema.EntryKey(board, string(boards.AllTime), r.Player()))
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
		there, outrun := dynamo.ConditionFailed(err)
		if !outrun {
			return err
		}
		held = there
	}
	return fmt.Errorf("others wrote the entry first %d times", maxOutrun)
}

// entryPut is the write of an entry that was held with this item, empty for none.
func (b *Bare) entryPut(key dynamo.Item, board string, r workload.Request, held dynamo.Item) (*dynamodb.PutItemInput, error) {
	now := time.Now().UTC()
	put := &dynamodb.PutItemInput{
		TableName: &b.Table, ConditionExpression: aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	sum, rev := r.Bytes, now.UnixMicro()
	if len(held) > 0 {
		before, ok := dynamo.Whole(held, schema.EntryScore)
		last, ok2 := dynamo.Whole(held, schema.EntryRev)
		if !ok || !ok2 {
			return nil, errors.New("the entry's score or its rev is not a whole number")
		}
		sum, rev = sum+before, last+1
		put.ConditionExpression = aws.String("rev = :rev")
		put.ExpressionAttributeValues = dynamo.Item{":rev": dynamo.Number(last)}
	}
	score, err := boards.ParseScore(strconv.FormatInt(sum, 10))
	if err != nil {
		return nil, err
	}
	put.Item = dynamo.Item{
		schema.PK: key[schema.PK], schema.SK: key[schema.SK],
		schema.EntryScore: dynamo.Number(sum), schema.EntryAt: dynamo.Number(now.UnixMilli()), schema.EntryRev: dynamo.Number(rev),
		schema.BoardShard: dynamo.String(schema.BoardShardKey(board, string(boards.AllTime), 0)),
		schema.RankKey:    dynamo.String(boards.Place{Player: r.Player(), Score: score, At: now}.RankKey()),
	}
	return put, nil
}
