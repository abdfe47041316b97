package dynamo

import (
	"fmt"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// CheckNow returns [shard.ErrMisused] for the zero time, which no call is made at.
func CheckNow(now time.Time) error {
	if now.IsZero() {
		return fmt.Errorf("%w: now is the zero time; pass time.Now()", shard.ErrMisused)
	}
	return nil
}
