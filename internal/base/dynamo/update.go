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

// conflictPause is a guarded update's pause after a conflict with a transaction.
const conflictPause = 20 * time.Millisecond

// Guarded makes a conditional update of an item that the caller has read.
//
// next returns the update, or nil if there is nothing to do. If the condition fails, Guarded calls
// rejected with the current item, or nil if there is none, and then next again. After a conflict with a
// transaction it pauses, and then calls next again. After rounds attempts it returns ErrOutrun. Any
// other error ends it.
func Guarded(ctx context.Context, db client.Updater, rounds int, next func() (*dynamodb.UpdateItemInput, error), rejected func(Item) error) error {
	for range rounds {
		in, err := next()
		if in == nil || err != nil {
			return err
		}
		in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
		_, err = db.UpdateItem(ctx, in)
		there, conditionFailed := ConditionFailed(err)
		_, conflict := errors.AsType[*types.TransactionConflictException](err)
		switch {
		case conditionFailed:
			err = rejected(there)
		case conflict:
			err = nil
			Pause(ctx, conflictPause)
		default:
			return err // nil if there is nothing left to do
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%w %d times", ErrOutrun, rounds)
}
