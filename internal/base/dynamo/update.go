package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard/client"
)

// conflictPause is the pause of UpdateGuarded after a conflict with a transaction.
const conflictPause = 20 * time.Millisecond

// UpdateGuarded makes a conditional update of an item that the caller has read, in at most maxAttempts attempts.
//
// Before each attempt nextUpdate returns the update, or nil if there is nothing to do. If the condition fails, UpdateGuarded
// calls useCurrent with the current item, or nil if there is none, and makes another attempt. After a conflict with a
// transaction it pauses before another attempt. It returns ErrOutrun after the last attempt, and any other error at once.
func UpdateGuarded(ctx context.Context, db client.Updater, maxAttempts int, nextUpdate func() (*dynamodb.UpdateItemInput, error), useCurrent func(Item) error) error {
	for range maxAttempts {
		in, err := nextUpdate()
		if in == nil || err != nil {
			return err
		}
		in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
		_, err = db.UpdateItem(ctx, in)
		current, conditionFailed := ConditionFailed(err)
		_, conflict := errors.AsType[*types.TransactionConflictException](err)
		switch {
		case conditionFailed:
			err = useCurrent(current)
		case conflict:
			err = nil
			Pause(ctx, conflictPause)
		default:
			return err // nil after the update
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%w, in each of %d attempts", ErrOutrun, maxAttempts)
}
