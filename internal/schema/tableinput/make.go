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

// activeWithin bounds the wait for a table to become active.
const activeWithin = 2 * time.Minute

// Make makes a table, waits until it is active, and turns its expiry on. A table that exists
// is left as it is; it is an error when its keys, its indexes, its stream or the attribute
// that its items expire by are other than the schema's.
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
	})
	out, err := waiter.WaitForOutput(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name}, activeWithin)
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
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &t.Name})
	if err != nil {
		return fmt.Errorf("describe its expiry: %w", err)
	}
	if d := out.TimeToLiveDescription; d != nil && d.TimeToLiveStatus != types.TimeToLiveStatusDisabled {
		if have := aws.ToString(d.AttributeName); have != t.TTL {
			return fmt.Errorf("its items expire by attribute %q instead of %q", have, t.TTL)
		}
		return nil
	}
	if _, err := client.UpdateTimeToLive(ctx, Expiry(t)); err != nil {
		return fmt.Errorf("enable its expiry: %w", err)
	}
	return nil
}
