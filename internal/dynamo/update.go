package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// conflictPause is for how long a guarded update waits for a transaction on its item.
const conflictPause = 20 * time.Millisecond

// Guarded makes an update whose condition is that its item is as the caller knows it.
//
// next makes the update from what the caller knows, or nil when there is nothing to do.
// When the update is refused, refused is called with the item as it is, nil for none,
// and next is asked again, for so many rounds at most. A transaction on the item is waited
// for. The error of next, of refused or of DynamoDB ends it.
func Guarded(ctx context.Context, client Updater, rounds int, next func() (*dynamodb.UpdateItemInput, error), refused func(Item) error) error {
	for range rounds {
		in, err := next()
		if in == nil || err != nil {
			return err
		}
		in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
		_, err = client.UpdateItem(ctx, in)
		there, isRefused := ConditionFailed(err)
		_, conflict := errors.AsType[*types.TransactionConflictException](err)
		switch {
		case isRefused:
			err = refused(there)
		case conflict:
			err = nil
			Pause(ctx, conflictPause)
		default:
			return err // nil for done
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%w %d times", ErrOutrun, rounds)
}
