package boards_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// TestRowsFollowAllWriters checks that no score is lost, and that the index has all entries after a last move. Before it,
// writers that defer rows or not work beside a mover, with throttles and lost answers.
func TestRowsFollowAllWriters(t *testing.T) {
	t.Parallel()
	seed := require.Seed(t)
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
