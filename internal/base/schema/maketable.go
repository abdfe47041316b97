package schema

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard/client"
)

// usableWithin bounds the wait for a table to become usable.
const usableWithin = 2 * time.Minute

// MakeTable creates a table, waits up to two minutes until it is usable, and enables its TTL. Of an existing table it changes
// only the TTL. It returns an error if the keys or the TTL attribute differ from the schema, and checks nothing else.
// Several programs may make the same table at the same time.
//
// If AWS is just disabling the table's TTL, MakeTable leaves TTL disabled and returns no error. A later call enables it.
func MakeTable(ctx context.Context, db client.TableMaker, t Table) error {
	if err := makeTable(ctx, db, t); err != nil {
		return fmt.Errorf("create table %s: %w", t.Name, err)
	}
	return nil
}

func makeTable(ctx context.Context, db client.TableMaker, t Table) error {
	_, err := db.CreateTable(ctx, CreateInput(t))
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return err
	}
	waiter := dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 20*time.Millisecond, time.Second
		retryable := o.Retryable
		o.Retryable = func(ctx context.Context, in *dynamodb.DescribeTableInput, out *dynamodb.DescribeTableOutput, err error) (bool, error) {
			if err == nil && out.Table != nil && out.Table.TableStatus == types.TableStatusUpdating {
				return false, nil // the table serves reads and writes meanwhile
			}
			return retryable(ctx, in, out, err)
		}
	})
	out, err := waiter.WaitForOutput(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name}, usableWithin)
	if err != nil {
		return err
	}
	if have, want := out.Table.KeySchema, CreateInput(t).KeySchema; !reflect.DeepEqual(have, want) {
		return fmt.Errorf("it exists with the key %s instead of %s: use another table name", keyText(have), keyText(want))
	}
	return enableTTL(ctx, db, t)
}

// keyText returns the names of a key's attributes.
func keyText(keys []types.KeySchemaElement) string {
	var names []string
	for _, k := range keys {
		names = append(names, aws.ToString(k.AttributeName))
	}
	return strings.Join(names, ", ")
}

// enableTTL enables a table's TTL, if it is disabled: AWS rejects enabling it twice.
func enableTTL(ctx context.Context, db client.TableMaker, t Table) error {
	if t.TTL == "" {
		return nil
	}
	disabled, err := ttlDisabled(ctx, db, t)
	if err != nil || !disabled {
		return err
	}
	_, failed := db.UpdateTimeToLive(ctx, ExpiryInput(t))
	if failed == nil {
		return nil
	}
	// Another program may have enabled it meanwhile.
	disabled, err = ttlDisabled(ctx, db, t)
	if err != nil || disabled {
		return fmt.Errorf("enable its TTL: %w", errors.Join(failed, err))
	}
	return nil
}

// ttlDisabled reports whether a table's TTL is disabled. It returns an error if TTL is enabled for another attribute.
func ttlDisabled(ctx context.Context, db client.TableMaker, t Table) (bool, error) {
	out, err := db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &t.Name})
	if err != nil {
		return false, fmt.Errorf("describe its TTL: %w", err)
	}
	d := out.TimeToLiveDescription
	if d == nil || d.TimeToLiveStatus == types.TimeToLiveStatusDisabled {
		return true, nil
	}
	if have := aws.ToString(d.AttributeName); have != t.TTL {
		return false, fmt.Errorf("its TTL attribute is %q instead of %q: disable its TTL, and try again", have, t.TTL)
	}
	return false, nil
}
