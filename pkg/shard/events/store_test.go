package events_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
)

// store is tables in memory. Calls take up to 20 ms in each direction, and some take seconds. Writes are throttled, lose
// their answer, are left unprocessed, or are applied late.
type store struct {
	mu     sync.Mutex
	random *rand.Rand
	tables map[string]map[string]dynamo.Item // by keyOf
}

func (s *store) below(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

func (s *store) within(low, high time.Duration) time.Duration {
	return low + time.Duration(s.below(int(high-low)+1))
}

// travel waits for one direction of a call.
func (s *store) travel() {
	longest := 20 * time.Millisecond
	if s.below(40) == 0 {
		longest = 3 * time.Second
	}
	time.Sleep(s.within(0, longest))
}

// keyOf returns an item's primary key as one text.
func keyOf(it dynamo.Item) string {
	return dynamo.Text(it, schema.PK) + "\x00" + dynamo.Text(it, schema.SK)
}

// change applies a write of an item; it returns the item before. apply returns nil to delete it.
func (s *store) change(table string, key dynamo.Item, apply func(there dynamo.Item) dynamo.Item) (before dynamo.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.tables[table]
	if of == nil {
		of = map[string]dynamo.Item{}
		s.tables[table] = of
	}
	before = of[keyOf(key)]
	if of[keyOf(key)] = apply(before); of[keyOf(key)] == nil {
		delete(of, keyOf(key))
	}
	return before
}

// send makes a write with the faults of its table. Only writes of events are applied late.
func (s *store) send(table string, write func() error) error {
	s.travel()
	switch n := s.below(100); {
	case n < 12:
		return libtest.Hot(libtest.TableHot)
	case n < 14:
		return libtest.LostAnswer{}
	case n < 16:
		_ = write()
		return libtest.LostAnswer{}
	case n < 18 && table == eventTable:
		after := s.within(0, 6*time.Second)
		go func() {
			time.Sleep(after)
			_ = write()
		}()
		return libtest.LostAnswer{}
	}
	err := write()
	s.travel()
	return err
}

// put puts an item, whose condition is none or that it is absent.
func (s *store) put(table string, it dynamo.Item, condition *string) (err error) {
	s.change(table, it, func(there dynamo.Item) dynamo.Item {
		switch aws.ToString(condition) {
		case "":
		case "attribute_not_exists(pk)":
			if there != nil {
				err = &types.ConditionalCheckFailedException{Item: maps.Clone(there)}
				return there
			}
		default: // the item is unchanged
			before, _ := dynamo.Integer(there, "rev")
			if next, _ := dynamo.Integer(it, "rev"); there == nil || next != before+1 {
				err = &types.ConditionalCheckFailedException{Item: maps.Clone(there)}
				return there
			}
		}
		return maps.Clone(it)
	})
	return err
}

func (s *store) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, s.send(*in.TableName, func() error { return s.put(*in.TableName, in.Item, in.ConditionExpression) })
}

// BatchWriteItem leaves items unprocessed, some of which were written or will be.
func (s *store) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	out := &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{}}
	err := s.send("", func() error {
		for _, r := range in.RequestItems[eventTable] {
			after := time.Duration(0)
			if s.below(3) == 0 {
				out.UnprocessedItems[eventTable] = append(out.UnprocessedItems[eventTable], r)
				if s.below(4) > 0 {
					continue
				}
				after = s.within(0, 2*time.Second)
			}
			if after == 0 {
				_ = s.put(eventTable, r.PutRequest.Item, nil)
				continue
			}
			go func() {
				time.Sleep(after)
				_ = s.put(eventTable, r.PutRequest.Item, nil)
			}()
		}
		return nil
	})
	return out, err
}

func (s *store) DeleteItem(_ context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return &dynamodb.DeleteItemOutput{}, s.send(*in.TableName, func() error {
		s.change(*in.TableName, in.Key, func(dynamo.Item) dynamo.Item { return nil })
		return nil
	})
}

// UpdateItem adds :delta to attribute n.
func (s *store) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{}, s.send(*in.TableName, func() error {
		s.change(*in.TableName, in.Key, func(there dynamo.Item) dynamo.Item {
			it := maps.Clone(in.Key)
			before, _ := dynamo.Integer(there, "n")
			delta, _ := dynamo.Integer(in.ExpressionAttributeValues, ":d0")
			it["n"] = dynamo.Number(before + delta)
			return it
		})
		return nil
	})
}

func (s *store) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	s.travel()
	s.mu.Lock()
	it := maps.Clone(s.tables[*in.TableName][keyOf(in.Key)])
	s.mu.Unlock()
	s.travel()
	return &dynamodb.GetItemOutput{Item: it}, nil
}

func (s *store) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	s.travel()
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{}}
	s.mu.Lock()
	for table, of := range in.RequestItems {
		for _, key := range of.Keys {
			if it := s.tables[table][keyOf(key)]; it != nil {
				out.Responses[table] = append(out.Responses[table], maps.Clone(it))
			}
		}
	}
	s.mu.Unlock()
	s.travel()
	return out, nil
}

// Query returns all items of a partition within the bounds.
func (s *store) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	s.travel()
	values := in.ExpressionAttributeValues
	pk, low, high := dynamo.Text(values, ":pk"), dynamo.Text(values, ":low"), dynamo.Text(values, ":high")
	out := &dynamodb.QueryOutput{}
	s.mu.Lock()
	of := s.tables[*in.TableName]
	var keys []string
	for key := range of {
		if sk, ours := strings.CutPrefix(key, pk+"\x00"); ours && sk >= low && (high == "" || sk <= high) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if !aws.ToBool(in.ScanIndexForward) && in.ScanIndexForward != nil {
		slices.Reverse(keys)
	}
	for _, key := range keys {
		out.Items = append(out.Items, maps.Clone(of[key]))
	}
	s.mu.Unlock()
	s.travel()
	out.Count = int32(len(out.Items))
	return out, nil
}
