package shardmap

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// strictMap is a enginetest.MapTable that checks the conditions of a Changer.
type strictMap struct{ *enginetest.MapTable }

func (c *strictMap) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.Mu.Lock()
	put := in.TransactItems[0].Put
	ok := holds(put, c.Items[enginetest.ItemSlot(put.Item)])
	c.Mu.Unlock()
	if !ok {
		return nil, &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: aws.String("ConditionalCheckFailed")}}}
	}
	return c.MapTable.TransactWriteItems(ctx, in, o...)
}

// holds reports whether a put's condition holds for the stored item.
func holds(put *types.Put, there dynamo.Item) bool {
	value := func(from dynamo.Item, name string) float64 {
		n, _ := from[name].(*types.AttributeValueMemberN)
		if n == nil {
			return 0
		}
		f, _ := strconv.ParseFloat(n.Value, 64)
		return f
	}
	values := put.ExpressionAttributeValues
	switch condition := aws.ToString(put.ConditionExpression); condition {
	case "attribute_not_exists(version)":
		return there[attrVersion] == nil
	case "version = :old":
		return there[attrVersion] != nil && value(there, attrVersion) == value(values, ":old")
	default:
		panic("unknown condition: " + condition)
	}
}

// change stores a key's entry and its log items now, and returns them. Its count took effect in 2001.
func change(f *enginetest.MapTable, version int64, key string, n int) (it dynamo.Item, logs []dynamo.Item) {
	e := Entry{
		Key: key, History: shard.History{{At: time.Unix(1_000_000_000, 0), Count: n}},
		Max: n, Version: version, Updated: entryTime(time.Now()),
	}
	it = e.attributes()
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Put(it)
	for _, action := range new(tableReader).logPuts(e) {
		logs = append(logs, action.Put.Item)
		f.Put(action.Put.Item)
	}
	return it, logs
}

// drop deletes items.
func drop(f *enginetest.MapTable, items []dynamo.Item) {
	for _, it := range items {
		delete(f.Items, enginetest.ItemSlot(it))
	}
}

// manyPages returns a map with the counters k0 to k199 of 16 write shards each, whose load takes longer than callers
// wait. Their changes are not in the log.
func manyPages() *enginetest.MapTable {
	f := enginetest.NewMapTable(2, 60*time.Millisecond, 5*time.Millisecond)
	for n := range 200 {
		_, logs := change(f, 1, fmt.Sprint("C#k", n), 16)
		drop(f, logs)
	}
	return f
}

// soon looks up a key with a deadline.
func soon(t *testing.T, m *Map, key string, d time.Duration) (Entry, error) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return m.Lookup(ctx, key, time.Now())
}

// newForm is a history in an unknown form.
var newForm = &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: "v2;1000000000;40"}}}

// counted is a map that counts reads of keys' items.
type counted struct {
	*enginetest.MapTable
	gets int // one at a time
}

func (c *counted) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	c.gets++
	return c.MapTable.GetItem(ctx, in, o...)
}
