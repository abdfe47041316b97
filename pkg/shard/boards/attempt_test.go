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

// TestWaitingWritesFailAsThrottled checks that throttled writes which wait until their deadline return ErrThrottled: they
// were not written.
func TestWaitingWritesFailAsThrottled(t *testing.T) {
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
			t.Errorf("score %d: error %v, want ErrThrottled", i, err)
		}
	}
}

// TestNewEntryHasRevOfItsAttempt checks that a new entry's rev has the attempt's time, and its score the call's time. So
// an entry that was removed during the call gets a higher rev.
func TestNewEntryHasRevOfItsAttempt(t *testing.T) {
	d := deploy(t)
	now := libtest.Later
	attempt := now.Add(3 * time.Second)
	list, err := d.boards(d.Client, nil).SubmitTransact(libtest.Within(t), "b", scoresOf(t, "ann 5"), now, attempt)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d writes, %v; want 1", len(list), err)
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(list[0].Action.Put.Item[name].(*types.AttributeValueMemberN).Value, 10, 64)
		return n
	}
	if number("rev") < attempt.UnixMicro() || number("at") != now.UnixMilli() {
		t.Errorf("rev %d and at %d, want at least %d and %d", number("rev"), number("at"), attempt.UnixMicro(), now.UnixMilli())
	}
}
