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

// UpdateGuarded makes a conditional update of an item that the caller has read. It makes at most rounds attempts, and then
// returns ErrOutrun.
//
// next returns the update, or nil if there is nothing to do. If the condition fails, UpdateGuarded calls
// rejected with the current item, or nil if there is none, and then next again. After a conflict with a
// transaction it pauses, and then calls next again. Any other error ends it.
func UpdateGuarded(ctx context.Context, db client.Updater, rounds int, next func() (*dynamodb.UpdateItemInput, error), rejected func(Item) error) error {
	for range rounds {
		in, err := next()
		if in == nil || err != nil {
			return err
		}
		in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
		_, err = db.UpdateItem(ctx, in)
		current, conditionFailed := ConditionFailed(err)
		_, conflict := errors.AsType[*types.TransactionConflictException](err)
		switch {
		case conditionFailed:
			err = rejected(current)
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
	return fmt.Errorf("%w, in each of %d attempts", ErrOutrun, rounds)
}
