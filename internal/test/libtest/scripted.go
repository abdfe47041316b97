package libtest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/mapfake"
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

// Scripted is a client whose writes return scripted results in order, and succeed after the last.
type Scripted struct {
	Transactions []error
	Updates      []error
	Probe        error
	Probes       int
}

func next(list *[]error) error {
	if len(*list) == 0 {
		return nil
	}
	err := (*list)[0]
	*list = (*list)[1:]
	return err
}

func (s *Scripted) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return nil, next(&s.Transactions)
}

func (s *Scripted) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := next(&s.Updates); err != nil {
		return nil, err
	}
	return &dynamodb.UpdateItemOutput{Attributes: dynamo.Item{"used": dynamo.Number(1)}}, nil
}

func (s *Scripted) BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return &dynamodb.BatchGetItemOutput{}, nil
}

func (s *Scripted) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	s.Probes++
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
func EmptyMap() *shardmap.Map { return shardmap.New(mapfake.New(10, 0, 0), "m", shardmap.Options{}) }
