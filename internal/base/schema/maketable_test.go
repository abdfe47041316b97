package schema

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

	"github.com/hotshard/hotshard/internal/test/require"
)

// existing is a client whose table exists in the wanted form.
type existing struct {
	statuses []types.TableStatus              // of the calls in order; the last one repeats
	expiry   []*types.TimeToLiveDescription   // the same
	rejects  error                            // the result of UpdateTimeToLive
	turnedOn []*types.TimeToLiveSpecification // inputs of UpdateTimeToLive
	keys     []types.KeySchemaElement         // default: as wanted
}

func (e *existing) CreateTable(_ context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	if e.keys == nil {
		e.keys = in.KeySchema
	}
	return nil, &types.ResourceInUseException{}
}

func (e *existing) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	time.Sleep(time.Millisecond) // without this, the SDK's waiter never ends in a bubble of synctest
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{TableStatus: next(&e.statuses), KeySchema: e.keys}}, nil
}

func (e *existing) DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error) {
	d := next(&e.expiry)
	if d == nil {
		return nil, errors.New("no response")
	}
	return &dynamodb.DescribeTimeToLiveOutput{TimeToLiveDescription: d}, nil
}

func (e *existing) UpdateTimeToLive(_ context.Context, in *dynamodb.UpdateTimeToLiveInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	e.turnedOn = append(e.turnedOn, in.TimeToLiveSpecification)
	return &dynamodb.UpdateTimeToLiveOutput{}, e.rejects
}

// next removes and returns the first of a list. It leaves the last one.
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

// TestExpiryIsTurnedOnOnce checks that expiry is turned on only if it is off. If another program did so meanwhile, its
// change is accepted if it has the same attribute.
func TestExpiryIsTurnedOnOnce(t *testing.T) {
	off := expiry(types.TimeToLiveStatusDisabled, "")
	rejected := &smithy.GenericAPIError{Code: "ValidationException", Message: "TimeToLive is already enabled"}
	for name, c := range map[string]struct {
		expiry  []*types.TimeToLiveDescription
		rejects error
		calls   int      // of UpdateTimeToLive
		says    []string // parts of the error; nil for no error
	}{
		"off":                   {expiry: []*types.TimeToLiveDescription{off}, calls: 1},
		"on":                    {expiry: []*types.TimeToLiveDescription{expiry(types.TimeToLiveStatusEnabled, ExpiresAt)}},
		"enabling":              {expiry: []*types.TimeToLiveDescription{expiry(types.TimeToLiveStatusEnabling, ExpiresAt)}},
		"disabling":             {expiry: []*types.TimeToLiveDescription{expiry(types.TimeToLiveStatusDisabling, ExpiresAt)}},
		"other attribute":       {expiry: []*types.TimeToLiveDescription{expiry(types.TimeToLiveStatusEnabled, "until")}, says: []string{`"until"`, ExpiresAt}},
		"concurrently on":       {expiry: []*types.TimeToLiveDescription{off, expiry(types.TimeToLiveStatusEnabled, ExpiresAt)}, rejects: rejected, calls: 1},
		"concurrently enabling": {expiry: []*types.TimeToLiveDescription{off, expiry(types.TimeToLiveStatusEnabling, ExpiresAt)}, rejects: rejected, calls: 1},
		"concurrently other":    {expiry: []*types.TimeToLiveDescription{off, expiry(types.TimeToLiveStatusEnabling, "until")}, rejects: rejected, calls: 1, says: []string{`"until"`, "already enabled"}},
		"rejected":              {expiry: []*types.TimeToLiveDescription{off}, rejects: rejected, calls: 1, says: []string{"already enabled"}},
		"no response":           {expiry: []*types.TimeToLiveDescription{off, nil}, rejects: rejected, calls: 1, says: []string{"already enabled", "no response"}},
	} {
		t.Run(name, func(t *testing.T) {
			client := &existing{statuses: []types.TableStatus{types.TableStatusActive}, expiry: c.expiry, rejects: c.rejects}
			err := MakeTable(t.Context(), client, items())
			if (err != nil) != (len(c.says) > 0) {
				t.Fatal(err)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %s", err, part)
				}
			}
			if len(client.turnedOn) != c.calls {
				t.Errorf("expiry was turned on %d times, want %d", len(client.turnedOn), c.calls)
			}
			for _, asked := range client.turnedOn {
				if aws.ToString(asked.AttributeName) != ExpiresAt || !aws.ToBool(asked.Enabled) {
					t.Errorf("UpdateTimeToLive was called with %s, %t", aws.ToString(asked.AttributeName), aws.ToBool(asked.Enabled))
				}
			}
		})
	}
}

// TestAnUpdatingTableIsUsable checks that Make waits for a table that is being created, and not for one that is updated.
func TestAnUpdatingTableIsUsable(t *testing.T) {
	on := []*types.TimeToLiveDescription{expiry(types.TimeToLiveStatusEnabled, ExpiresAt)}
	for _, usable := range []types.TableStatus{types.TableStatusActive, types.TableStatusUpdating} {
		for _, before := range []int{0, 3} {
			synctest.Test(t, func(t *testing.T) {
				client := &existing{expiry: on}
				for range before {
					client.statuses = append(client.statuses, types.TableStatusCreating)
				}
				client.statuses = append(client.statuses, usable)
				began := time.Now()
				require.NoError(t, MakeTable(t.Context(), client, items()))
				if waited := time.Since(began); (waited > 10*time.Millisecond) != (before > 0) || waited > 10*time.Second {
					t.Errorf("CREATING %d times, then %s: Make took %v", before, usable, waited)
				}
			})
		}
	}
	for _, never := range []types.TableStatus{types.TableStatusCreating, types.TableStatusDeleting} {
		synctest.Test(t, func(t *testing.T) {
			if err := MakeTable(t.Context(), &existing{expiry: on, statuses: []types.TableStatus{never}}, items()); err == nil {
				t.Errorf("Make succeeded with a table that stays %s", never)
			}
		})
	}
}

func items() Table { return Tables(NamesFor("test-"))[0] }
