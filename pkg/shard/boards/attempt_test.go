package boards_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// TestWhatWasNotSentIsRefused: writes that wait for their turn until there is no time
// left were not sent, and that is what the caller hears.
func TestWhatWasNotSentIsRefused(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	submit(t, d.boards(d.Client, nil), "b", wingtest.Later, "first 1") // settles the mode
	client := &wingtest.Flaky{Client: d.Client, Before: func() error { return wingtest.Hot("IndexWriteKeyRangeThroughputExceeded") }}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	var list []boards.PlayerScore
	for i := range 200 {
		list = append(list, scoresOf(t, fmt.Sprint("p", i, " 1"))...)
	}
	for i, err := range d.boards(client, nil).Submit(ctx, "b", list, wingtest.Later) {
		if !errors.Is(err, shard.ErrThrottled) {
			t.Errorf("score %d: %v", i, err)
		}
	}
}

// TestAnAttemptMakesEntriesByItsOwnTime: an entry that was removed since the call began
// would otherwise come back with a rev below what its removal folds as.
func TestAnAttemptMakesEntriesByItsOwnTime(t *testing.T) {
	d := deploy(t)
	now := wingtest.Later
	attempt := now.Add(3 * time.Second)
	list, err := d.boards(d.Client, nil).SubmitTransact(wingtest.Within(t), "b", scoresOf(t, "ann 5"), now, attempt)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d writes, %v", len(list), err)
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(list[0].Put.Item[name].(*types.AttributeValueMemberN).Value, 10, 64)
		return n
	}
	if number("rev") < attempt.UnixMicro() || number("at") != now.UnixMilli() {
		t.Errorf("rev %d of an attempt at %d, score of %d", number("rev"), attempt.UnixMicro(), number("at"))
	}
}
