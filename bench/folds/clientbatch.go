package folds

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// BatchWriteItem puts events. It may fail as a whole, or leave some of them.
func (c *client) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.BatchWriteItemOutput, err error) {
	taken, left := in.RequestItems, map[string][]types.WriteRequest(nil)
	if c.dice.draw(batchChances) == unprocessed && !c.life.over() {
		c.count(unprocessed)
		taken, left = c.cut(in.RequestItems)
	}
	if c.broken.shard {
		taken = elsewhere(taken)
	}
	err = c.write(ctx, 0, func(ctx context.Context) error {
		out, err = c.Client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: taken}, o...)
		return err
	}, func(bool) {
		for _, requests := range taken {
			for _, request := range requests {
				c.put(ctx, request.PutRequest.Item)
			}
		}
	})
	if err == nil && left != nil {
		out.UnprocessedItems = left
	}
	return out, err
}

// cut parts a batch's writes in two; neither is empty unless there is only one.
func (c *client) cut(all map[string][]types.WriteRequest) (taken, left map[string][]types.WriteRequest) {
	taken, left = map[string][]types.WriteRequest{}, map[string][]types.WriteRequest{}
	for table, requests := range all {
		at := c.dice.intN(len(requests)) + 1
		taken[table] = requests[:at]
		if at < len(requests) {
			left[table] = requests[at:]
		}
	}
	return taken, left
}

const maxBatch = 25 // of DynamoDB

// elsewhere adds to a batch's writes the first of them with another write shard.
func elsewhere(all map[string][]types.WriteRequest) map[string][]types.WriteRequest {
	more := map[string][]types.WriteRequest{}
	for table, requests := range all {
		if more[table] = requests; len(requests) == maxBatch {
			continue
		}
		copied := maps.Clone(requests[0].PutRequest.Item)
		key, err := schema.ParseKey(copied[schema.PK].(*types.AttributeValueMemberS).Value)
		if err != nil {
			panic(err) // events only
		}
		key.Shard++
		copied[schema.PK] = &types.AttributeValueMemberS{Value: key.String()}
		more[table] = append(slices.Clone(requests), types.WriteRequest{PutRequest: &types.PutRequest{Item: copied}})
	}
	return more
}
