package main

import (
	"context"
	"errors"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local/limiter"
)

// meter is DynamoDB behind the partition limiter, and counts calls.
type meter struct {
	*dynamodb.Client
	limits *limiter.Limiter

	mu      sync.Mutex
	calls   int     // that write a summary
	failed  int     // of them, by their condition
	applied float64 // write units of the updates that were applied
}

// UpdateItem asks what an update that is applied consumes: the limiter does not
// count failed conditions by themselves.
func (m *meter) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	asked := *in
	asked.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := m.Client.UpdateItem(ctx, &asked, o...)
	_, failed := errors.AsType[*types.ConditionalCheckFailedException](err)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if failed {
		m.failed++
	}
	if err == nil {
		m.applied += *out.ConsumedCapacity.CapacityUnits
	}
	return out, err
}

// TransactWriteItems counts a transaction as one update.
func (m *meter) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	out, err := m.Client.TransactWriteItems(ctx, in, o...)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if refused(err) {
		m.failed++
	}
	return out, err
}

// units are the write units so far, by the limiter's count.
func (m *meter) units() float64 { return m.limits.Stats().WriteUnits }
