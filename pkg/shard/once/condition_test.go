package once_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// counted is a client that counts its transactions.
type counted struct {
	*dynamodb.Client
	sent atomic.Int64
}

func (c *counted) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.sent.Add(1)
	return c.Client.TransactWriteItems(ctx, in, o...)
}

// sale returns a caller's write that sells an item if the stock is not empty. at differs in each attempt.
func sale(table string, at int64) shardmap.Write {
	return shardmap.Write{Action: types.TransactWriteItem{Update: &types.Update{
		TableName: &table, Key: dynamo.Key("stock", "-"),
		UpdateExpression: aws.String("SET stock = stock - :one, sold_at = :at"), ConditionExpression: aws.String("stock > :zero"),
		ExpressionAttributeValues: dynamo.Item{":one": libtest.Num(1), ":zero": libtest.Num(0), ":at": libtest.Num(at)},
	}}}
}

// TestFailedConditionOfCallerIsReturned sells a stock of 5 to 20 concurrent buyers. The others get their failed condition
// after at most two transactions, and not ErrContended.
func TestFailedConditionOfCallerIsReturned(t *testing.T) {
	t.Parallel()
	d := libtest.Deploy(t)
	stock := dynamo.Key("stock", "-")
	stock["stock"] = libtest.Num(5)
	if _, err := d.Client.PutItem(libtest.Within(t), &dynamodb.PutItemInput{TableName: &d.Names.Items, Item: stock}); err != nil {
		t.Fatal(err)
	}
	client := &counted{Client: d.Client}
	calls := once.New(client, d.Names.Items, once.Options{})
	var sold, soldOut, at atomic.Int64
	var buyers sync.WaitGroup
	for i := range 20 {
		buyers.Go(func() {
			_, err := calls.Do(libtest.Within(t), once.Call{Key: fmt.Sprint("buyer", i)}, libtest.Later, func(context.Context) ([]shardmap.Write, error) {
				return []shardmap.Write{sale(d.Names.Items, at.Add(1))}, nil
			})
			_, failed := errors.AsType[*types.TransactionCanceledException](err)
			switch {
			case err == nil:
				sold.Add(1)
			case failed && !errors.Is(err, shard.ErrThrottled):
				soldOut.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	buyers.Wait()
	if sold.Load() != 5 || soldOut.Load() != 15 || client.sent.Load() > 5+15*2 {
		t.Errorf("%d sold, %d sold out, %d transactions; want 5, 15 and at most 35", sold.Load(), soldOut.Load(), client.sent.Load())
	}
}
