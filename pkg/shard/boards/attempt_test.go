package boards_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// TestWhatWasNotSentIsRefused checks that writes which wait until the deadline is near are reported as not
// written.
func TestWhatWasNotSentIsRefused(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	submit(t, d.boards(d.Client, nil), "b", libtest.Later, "first 1") // fixes the mode
	client := &libtest.Flaky{Client: d.Client, Before: func() error { return libtest.Hot("IndexWriteKeyRangeThroughputExceeded") }}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	var list []boards.PlayerScore
	for i := range 200 {
		list = append(list, scoresOf(t, fmt.Sprint("p", i, " 1"))...)
	}
	for i, err := range d.boards(client, nil).Submit(ctx, "b", list, libtest.Later) {
		if !errors.Is(err, shard.ErrThrottled) {
			t.Errorf("score %d: %v", i, err)
		}
	}
}

// TestAnAttemptMakesEntriesByItsOwnTime checks that an entry which was removed during the call gets a rev
// above its removal's.
func TestAnAttemptMakesEntriesByItsOwnTime(t *testing.T) {
	d := deploy(t)
	now := libtest.Later
	attempt := now.Add(3 * time.Second)
	list, err := d.boards(d.Client, nil).SubmitTransact(libtest.Within(t), "b", scoresOf(t, "ann 5"), now, attempt)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d writes, %v", len(list), err)
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(list[0].Action.Put.Item[name].(*types.AttributeValueMemberN).Value, 10, 64)
		return n
	}
	if number("rev") < attempt.UnixMicro() || number("at") != now.UnixMilli() {
		t.Errorf("rev %d of an attempt at %d, score of %d", number("rev"), attempt.UnixMicro(), number("at"))
	}
}
