package tableinput

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// Client is what Make calls of DynamoDB.
type Client interface {
	dynamodb.DescribeTableAPIClient
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
}

// usableWithin bounds the wait for a table to become usable.
const usableWithin = 2 * time.Minute

// Make makes a table, waits until it can be used, and turns its expiry on. Of a table that exists
// nothing else is changed; it is an error when its keys, its indexes, its stream or the attribute
// that its items expire by are other than the schema's. Programs may make one table at the same time.
//
// Expiry that is being turned off stays so: until that is done, AWS refuses to turn it on. A
// later call does.
func Make(ctx context.Context, client Client, t schema.Table) error {
	if err := create(ctx, client, t); err != nil {
		return fmt.Errorf("create table %s: %w", t.Name, err)
	}
	return nil
}

func create(ctx context.Context, client Client, t schema.Table) error {
	_, err := client.CreateTable(ctx, Create(t))
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return err
	}
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 20*time.Millisecond, time.Second
		others := o.Retryable
		o.Retryable = func(ctx context.Context, in *dynamodb.DescribeTableInput, out *dynamodb.DescribeTableOutput, err error) (bool, error) {
			if err == nil && out.Table != nil && out.Table.TableStatus == types.TableStatusUpdating {
				return false, nil // it serves reads and writes meanwhile
			}
			return others(ctx, in, out, err)
		}
	})
	out, err := waiter.WaitForOutput(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name}, usableWithin)
	if err != nil {
		return err
	}
	if err := check(out.Table, t); err != nil {
		return err
	}
	return expire(ctx, client, t)
}

// expire turns expiry on unless it is on: saying so twice is an error.
func expire(ctx context.Context, client Client, t schema.Table) error {
	if t.TTL == "" {
		return nil
	}
	off, err := lacksExpiry(ctx, client, t)
	if err != nil || !off {
		return err
	}
	_, refused := client.UpdateTimeToLive(ctx, Expiry(t))
	if refused == nil {
		return nil
	}
	// Another program may have turned it on since.
	if off, err = lacksExpiry(ctx, client, t); err != nil || off {
		return fmt.Errorf("enable its expiry: %w", errors.Join(refused, err))
	}
	return nil
}

// lacksExpiry tells whether a table's expiry is off. It is an error when its items expire by
// another attribute.
func lacksExpiry(ctx context.Context, client Client, t schema.Table) (bool, error) {
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &t.Name})
	if err != nil {
		return false, fmt.Errorf("describe its expiry: %w", err)
	}
	d := out.TimeToLiveDescription
	if d == nil || d.TimeToLiveStatus == types.TimeToLiveStatusDisabled {
		return true, nil
	}
	if have := aws.ToString(d.AttributeName); have != t.TTL {
		return false, fmt.Errorf("its items expire by attribute %q instead of %q", have, t.TTL)
	}
	return false, nil
}
