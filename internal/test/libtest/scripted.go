package libtest

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Listener is a shard.Observer that records conclusive attempts. It calls Act after each attempt that was not accepted.
type Listener struct {
	All      int // number of attempts, including inconclusive ones
	Attempts []shard.Attempt
	Act      func()
}

func (l *Listener) ObserveAttempt(_ context.Context, a shard.Attempt) {
	l.All++
	if a.Outcome == shard.Inconclusive {
		return
	}
	l.Attempts = append(l.Attempts, a)
	if a.Outcome != shard.Accepted && l.Act != nil {
		l.Act()
	}
}

// Outcomes lists the outcomes of a key's conclusive attempts, in order.
func (l *Listener) Outcomes(key string) (list []shard.Outcome) {
	for _, a := range l.Attempts {
		if a.Key == key {
			list = append(list, a.Outcome)
		}
	}
	return list
}

// Scripted is a client whose writes return scripted results in order, and succeed after the last. They change no item.
type Scripted struct {
	Transactions []error
	Updates      []error
	Probe        error
	Items        []dynamo.Item // what batches read
	Stored       dynamo.Item   // what updates return; by default a limit's use of 1
	Unread       error         // the error of a batch; may be nil

	// What was requested.
	Transacted []*dynamodb.TransactWriteItemsInput
	Updated    []*dynamodb.UpdateItemInput
	Probed     []*dynamodb.PutItemInput
	Read       []*dynamodb.BatchGetItemInput
}

func next(list *[]error) error {
	if len(*list) == 0 {
		return nil
	}
	err := (*list)[0]
	*list = (*list)[1:]
	return err
}

func (s *Scripted) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	s.Transacted = append(s.Transacted, in)
	return nil, next(&s.Transactions)
}

func (s *Scripted) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	s.Updated = append(s.Updated, in)
	if err := next(&s.Updates); err != nil {
		return nil, err
	}
	if s.Stored != nil {
		return &dynamodb.UpdateItemOutput{Attributes: s.Stored}, nil
	}
	return &dynamodb.UpdateItemOutput{Attributes: dynamo.Item{"used": dynamo.Number(1)}}, nil
}

func (s *Scripted) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	s.Read = append(s.Read, in)
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]dynamo.Item{}}
	for table, asked := range in.RequestItems {
		for _, it := range s.Items {
			if slices.ContainsFunc(asked.Keys, func(key dynamo.Item) bool { return enginetest.ItemSlot(key) == enginetest.ItemSlot(it) }) {
				out.Responses[table] = append(out.Responses[table], it)
			}
		}
	}
	return out, s.Unread
}

func (s *Scripted) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	s.Probed = append(s.Probed, in)
	return nil, s.Probe
}

// CanceledFor returns a canceled transaction with these reason codes.
func CanceledFor(codes ...string) error {
	e := &types.TransactionCanceledException{}
	for _, code := range codes {
		e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: aws.String(code)})
	}
	return e
}

// EmptyMap is a view of a shard map without entries.
func EmptyMap() *shardmap.Map {
	return shardmap.New(enginetest.NewMapTable(10, 0, 0), "m", shardmap.Options{})
}

// MapTable is a shard-map table in memory with one key's changes, as SetShards puts them.
func MapTable(key string, history ...string) *enginetest.MapTable {
	table := enginetest.NewMapTable(10, 0, 0)
	if len(history) > 0 {
		table.Put(mapItem(key, history))
	}
	return table
}

// MapOf returns a view of a MapTable.
func MapOf(key string, history ...string) *shardmap.Map {
	return shardmap.New(MapTable(key, history...), "m", shardmap.Options{})
}
