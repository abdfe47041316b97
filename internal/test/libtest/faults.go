package libtest

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Flaky is a client whose writes fail before or after they are applied.
type Flaky struct {
	*dynamodb.Client
	Before func() error // its error fails a write that is then not applied; may be nil
	After  func() error // its error hides the result of an applied write; may be nil

	mu   sync.Mutex
	Lost int // writes with an unknown outcome
}

// Wrap calls Before, makes a write, and calls After.
func (f *Flaky) Wrap(write func() error) error {
	f.mu.Lock()
	err := error(nil)
	if f.Before != nil {
		err = f.Before()
	}
	f.mu.Unlock()
	if err != nil {
		return err
	}
	if err := write(); err != nil || f.After == nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err = f.After(); err != nil {
		f.Lost++
	}
	return err
}

func (f *Flaky) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.PutItemOutput, err error) {
	err = f.Wrap(func() error { out, err = f.Client.PutItem(ctx, in, o...); return err })
	return out, err
}

func (f *Flaky) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.DeleteItemOutput, err error) {
	err = f.Wrap(func() error { out, err = f.Client.DeleteItem(ctx, in, o...); return err })
	return out, err
}

func (f *Flaky) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (out *dynamodb.TransactWriteItemsOutput, err error) {
	err = f.Wrap(func() error { out, err = f.Client.TransactWriteItems(ctx, in, o...); return err })
	return out, err
}

// Hot returns a throttle with these reasons.
func Hot(reasons ...string) error {
	e := &types.ProvisionedThroughputExceededException{Message: aws.String("over")}
	for _, r := range reasons {
		e.ThrottlingReasons = append(e.ThrottlingReasons, types.ThrottlingReason{Reason: aws.String(r), Resource: aws.String("arn")})
	}
	return e
}

// LostAnswer is a network error after which the outcome of a write is unknown.
type LostAnswer struct{}

func (LostAnswer) Error() string { return "the connection broke" }

func (LostAnswer) Timeout() bool { return true }

func (LostAnswer) Temporary() bool { return true }

// Sometimes returns a function that fails at random, and always at its third call, so each run has a fault.
func Sometimes(random *rand.Rand, oneIn int, err error) func() error {
	n := 0
	return func() error {
		if n++; n == 3 || random.IntN(oneIn) == 0 {
			return err
		}
		return nil
	}
}

// Throttling reasons of a full partition of an index and of a table.
const (
	IndexHot = "IndexWriteKeyRangeThroughputExceeded"
	TableHot = "TableWriteKeyRangeThroughputExceeded"
)

// Faulty is a Flaky whose UpdateItem may fail, too.
type Faulty struct{ *Flaky }

func (f Faulty) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.UpdateItemOutput, err error) {
	err = f.Wrap(func() error { out, err = f.Client.UpdateItem(ctx, in, o...); return err })
	return out, err
}
