package tableinput

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// existing is a table that is there, of the form that it is asked for.
type existing struct {
	statuses []types.TableStatus              // one a look, the last one for all further looks
	expiry   []*types.TimeToLiveDescription   // the same
	refuses  error                            // what turning expiry on is answered by
	turnedOn []*types.TimeToLiveSpecification // what was asked for
	table    *dynamodb.CreateTableInput
}

func (e *existing) CreateTable(_ context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	e.table = in
	return nil, &types.ResourceInUseException{}
}

func (e *existing) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	time.Sleep(time.Millisecond) // the SDK's waiter goes on for ever where no time passes
	d := &types.TableDescription{
		TableStatus: next(&e.statuses), KeySchema: e.table.KeySchema, AttributeDefinitions: e.table.AttributeDefinitions,
		StreamSpecification: e.table.StreamSpecification,
	}
	for _, index := range e.table.GlobalSecondaryIndexes {
		d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, types.GlobalSecondaryIndexDescription{IndexName: index.IndexName, KeySchema: index.KeySchema})
	}
	return &dynamodb.DescribeTableOutput{Table: d}, nil
}

func (e *existing) DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error) {
	d := next(&e.expiry)
	if d == nil {
		return nil, errors.New("no answer")
	}
	return &dynamodb.DescribeTimeToLiveOutput{TimeToLiveDescription: d}, nil
}

func (e *existing) UpdateTimeToLive(_ context.Context, in *dynamodb.UpdateTimeToLiveInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	e.turnedOn = append(e.turnedOn, in.TimeToLiveSpecification)
	return &dynamodb.UpdateTimeToLiveOutput{}, e.refuses
}

// next takes the first of a list, unless it is the last one.
func next[T any](list *[]T) T {
	first := (*list)[0]
	if len(*list) > 1 {
		*list = (*list)[1:]
	}
	return first
}

func expiry(status types.TimeToLiveStatus, attribute string) *types.TimeToLiveDescription {
	d := &types.TimeToLiveDescription{TimeToLiveStatus: status}
	if attribute != "" {
		d.AttributeName = aws.String(attribute)
	}
	return d
}

// TestExpiryIsTurnedOnOnce: it is turned on where it is off, and not where it is on or where that
// can't be; and a program that another one outran accepts what that one did.
func TestExpiryIsTurnedOnOnce(t *testing.T) {
	off := expiry(types.TimeToLiveStatusDisabled, "")
	refused := &smithy.GenericAPIError{Code: "ValidationException", Message: "TimeToLive is already enabled"}
	for name, c := range map[string]struct {
		expiry  []*types.TimeToLiveDescription
		refuses error
		asks    int      // how often it is turned on
		says    []string // what the error names, nothing for none
	}{
		"off":           {expiry: []*types.TimeToLiveDescription{off}, asks: 1},
		"on":            {expiry: []*types.TimeToLiveDescription{expiry(types.TimeToLiveStatusEnabled, schema.ExpiresAt)}},
		"going on":      {expiry: []*types.TimeToLiveDescription{expiry(types.TimeToLiveStatusEnabling, schema.ExpiresAt)}},
		"going off":     {expiry: []*types.TimeToLiveDescription{expiry(types.TimeToLiveStatusDisabling, schema.ExpiresAt)}},
		"by another":    {expiry: []*types.TimeToLiveDescription{expiry(types.TimeToLiveStatusEnabled, "until")}, says: []string{`"until"`, schema.ExpiresAt}},
		"outrun, on":    {expiry: []*types.TimeToLiveDescription{off, expiry(types.TimeToLiveStatusEnabled, schema.ExpiresAt)}, refuses: refused, asks: 1},
		"outrun":        {expiry: []*types.TimeToLiveDescription{off, expiry(types.TimeToLiveStatusEnabling, schema.ExpiresAt)}, refuses: refused, asks: 1},
		"outrun, other": {expiry: []*types.TimeToLiveDescription{off, expiry(types.TimeToLiveStatusEnabling, "until")}, refuses: refused, asks: 1, says: []string{`"until"`, "already enabled"}},
		"refused":       {expiry: []*types.TimeToLiveDescription{off}, refuses: refused, asks: 1, says: []string{"already enabled"}},
		"no answer":     {expiry: []*types.TimeToLiveDescription{off, nil}, refuses: refused, asks: 1, says: []string{"already enabled", "no answer"}},
	} {
		t.Run(name, func(t *testing.T) {
			client := &existing{statuses: []types.TableStatus{types.TableStatusActive}, expiry: c.expiry, refuses: c.refuses}
			err := Make(t.Context(), client, items())
			if (err != nil) != (len(c.says) > 0) {
				t.Fatal(err)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %s", err, part)
				}
			}
			if len(client.turnedOn) != c.asks {
				t.Errorf("expiry is turned on %d times, want %d", len(client.turnedOn), c.asks)
			}
			for _, asked := range client.turnedOn {
				if aws.ToString(asked.AttributeName) != schema.ExpiresAt || !aws.ToBool(asked.Enabled) {
					t.Errorf("what is turned on: %s, %t", aws.ToString(asked.AttributeName), aws.ToBool(asked.Enabled))
				}
			}
		})
	}
}

// TestAnUpdatingTableIsUsable: nobody waits for it, unlike for one that is being created.
func TestAnUpdatingTableIsUsable(t *testing.T) {
	on := []*types.TimeToLiveDescription{expiry(types.TimeToLiveStatusEnabled, schema.ExpiresAt)}
	for _, usable := range []types.TableStatus{types.TableStatusActive, types.TableStatusUpdating} {
		for _, before := range []int{0, 3} {
			synctest.Test(t, func(t *testing.T) {
				client := &existing{expiry: on}
				for range before {
					client.statuses = append(client.statuses, types.TableStatusCreating)
				}
				client.statuses = append(client.statuses, usable)
				began := time.Now()
				if err := Make(t.Context(), client, items()); err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(began); (waited > 10*time.Millisecond) != (before > 0) || waited > 10*time.Second {
					t.Errorf("%d looks at a table that is being created, then %s: it waits %v", before, usable, waited)
				}
			})
		}
	}
	for _, never := range []types.TableStatus{types.TableStatusCreating, types.TableStatusDeleting} {
		synctest.Test(t, func(t *testing.T) {
			if err := Make(t.Context(), &existing{expiry: on, statuses: []types.TableStatus{never}}, items()); err == nil {
				t.Errorf("a table that stays %s can be used", never)
			}
		})
	}
}

func items() schema.Table { return schema.Tables(schema.NamesFor("test-"))[0] }
