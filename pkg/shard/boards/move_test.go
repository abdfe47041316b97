package boards_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// crowded is a client whose index throttles one partition key.
type crowded struct {
	*dynamodb.Client
	full string
}

func (c *crowded) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if place, ok := in.Item["board_shard"].(*types.AttributeValueMemberS); ok && place.Value == c.full {
		return nil, libtest.Hot(libtest.IndexHot)
	}
	return c.Client.PutItem(ctx, in, o...)
}

// players lists players and scores: "ann 5, bob 4".
func players(list []boards.Place) string {
	var names []string
	for _, p := range list {
		names = append(names, p.Player+" "+p.Score.String())
	}
	return strings.Join(names, ", ")
}

// TestThrottledWriteDefersItsRow checks that a write which the index throttles is made without the index. MoveRows moves its
// row later.
func TestThrottledWriteDefersItsRow(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	w := libtest.NewObserved()
	kept, now := d.deferring(&crowded{d.Client, "L#b#all#0"}, w), libtest.Later
	submit(t, d.boards(d.Client, nil), "b", now, "ann 5", "bob 4")
	submit(t, kept, "b", now.Add(time.Second), "bob 9")
	if got := w.Refused(); !slices.Equal(got, []string{"L#b 0"}) {
		t.Errorf("observed %v", w.Shown())
	}
	if got := d.entry(t, "b", "all", "bob", now).Score.String(); got != "9" {
		t.Errorf("bob has %s", got)
	}
	top := func() string {
		places, err := kept.Top(libtest.Within(t), "b", "all", 9, now)
		require.NoError(t, err)
		return players(places)
	}
	if got := top(); got != "ann 5, bob 4" {
		t.Errorf("before the move: %s", got)
	}
	if err := kept.Submit(libtest.Within(t), "b", scoresOf(t, "cat 7"), now)[0]; !errors.Is(err, shard.ErrThrottled) {
		t.Errorf("a new entry: %v", err)
	}
	d.SetShards(t, "L#b", "1:9")
	moved, err := d.boards(d.Client, nil).MoveRows(libtest.Within(t), "b", "all", []string{"ann", "bob", "cat"}, now)
	if moved != 1 || err != nil {
		t.Errorf("%d moved, %v; want 1", moved, err)
	}
	bob := d.Item(t, "L#b#all#bob", "b")
	if got := top(); got != "bob 9, ann 5" || fmt.Sprint(bob["row_rev"]) != fmt.Sprint(bob["rev"]) {
		t.Errorf("after it: %s, %v", got, bob)
	}
	if moved, err = kept.MoveRows(libtest.Within(t), "b", "all", []string{"ann", "bob"}, now); moved != 0 || err != nil {
		t.Errorf("again: %d moved, %v", moved, err)
	}
	submit(t, kept, "b", now.Add(time.Minute), "bob 10")
	submit(t, d.boards(d.Client, nil), "b", now.Add(time.Hour), "bob 11")
	if got := top(); got != "bob 11, ann 5" {
		t.Errorf("with its next write: %s", got)
	}
}

// TestRowsFollowAllWriters checks that no score is lost, and that the index has all entries after a last move. Before it,
// writers that defer rows or not work beside a mover, with throttles and lost answers.
func TestRowsFollowAllWriters(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := deploy(t)
	all := []string{"p0", "p1", "p2", "p3"}
	for _, mode := range []boards.Mode{boards.Best, boards.Latest, boards.Total} {
		random := rand.New(rand.NewPCG(seed, 1))
		board, now := string(mode), libtest.Later.Truncate(time.Millisecond)
		d.configure(t, board, boards.Settings{Mode: mode})
		d.SetShards(t, boards.Key(board), "1:3")
		flaky := &libtest.Flaky{Client: d.Client, Before: libtest.Sometimes(random, 2, libtest.Hot(libtest.IndexHot)), After: libtest.Sometimes(random, 8, libtest.LostAnswer{})}
		client := libtest.Faulty{Flaky: flaky}
		writers := []*boards.Boards{d.deferring(client, nil), d.deferring(client, nil), d.deferring(client, nil), d.boards(d.Client, nil)}
		done, moved, late := make(chan struct{}), 0, 0
		var movers sync.WaitGroup
		movers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					n, _ := writers[0].MoveRows(libtest.Within(t), board, "all", all, now)
					moved += n
				}
			}
		})
		s := newStorm(t, mode, now, require.Runs(24, 60), rand.New(rand.NewPCG(seed, 2)))
		s.send(t, writers, board)
		close(done)
		movers.Wait()
		entries, err := writers[3].Entries(libtest.Within(t), board, "all", all, now)
		require.NoError(t, err)
		for _, e := range entries {
			if e.Late() {
				late++
			}
		}
		if n, err := writers[3].MoveRows(libtest.Within(t), board, "all", all, now); n != late || err != nil {
			t.Errorf("%s: the last move moved %d rows, %v; want %d", mode, n, err, late)
		}
		t.Logf("%s: %d rows moved, and %d at the end", mode, moved, late)
		want := s.model.ranking("all", now)
		got, err := writers[0].Top(libtest.Within(t), board, "all", 10, now)
		require.NoError(t, err)
		if mode != boards.Total {
			samePlaces(t, board, got, want)
		}
		for _, p := range got {
			if entries[p.Player].Place != p {
				t.Errorf("%s: the row of %s is %v, the entry %v", mode, p.Player, p, entries[p.Player].Place)
			}
		}
	}
}
