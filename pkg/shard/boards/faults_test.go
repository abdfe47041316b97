package boards_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// storm has the calls of concurrent writers. Each call has its own time and scores, so that the result does not depend on
// their order.
type storm struct {
	calls [][]boards.PlayerScore // in turn by writer
	times []time.Time
	model *boardModel
}

func newStorm(t testing.TB, mode boards.Mode, now time.Time, calls int, random *rand.Rand) *storm {
	s := &storm{model: newBoardModel(boards.Settings{Mode: mode, Periods: []boards.Period{boards.AllTime}}, 0)}
	points := random.Perm(10 * calls)
	for i := range calls {
		var scores []boards.PlayerScore
		for range 1 + random.IntN(3) {
			scores = append(scores, boards.PlayerScore{Player: fmt.Sprint("p", random.IntN(4)), Score: score(t, strconv.Itoa(points[0]-4*calls))})
			points = points[1:]
		}
		s.calls, s.times = append(s.calls, scores), append(s.times, now.Add(time.Duration(i)*time.Millisecond))
		s.model.submit(scores, s.times[i])
	}
	return s
}

// send sends each call from one of the writers until it is accepted.
func (s *storm) send(t *testing.T, writers []*boards.Boards, board string) {
	var wg sync.WaitGroup
	for i, rankings := range writers {
		wg.Go(func() {
			for n := i; n < len(s.calls); n += len(writers) {
				for tries := 0; errors.Join(rankings.Submit(libtest.Within(t), board, s.calls[n], s.times[n])...) != nil; tries++ {
					if tries == 200 { // two of three fail at random
						t.Errorf("call %d was not accepted in 200 attempts", n)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestManyWritersLoseNothing checks that each mode has the right scores after calls of concurrent processes, with
// throttles and lost answers. With lost answers, sums are checked by TestSumsCountLostAnswersOnceMore.
func TestManyWritersLoseNothing(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := deploy(t)
	for _, mode := range []boards.Mode{boards.Best, boards.Latest, boards.Total} {
		for _, faults := range []bool{false, true} {
			random := rand.New(rand.NewPCG(seed, 1))
			board, now := fmt.Sprint(mode, faults), libtest.Later.Truncate(time.Millisecond)
			d.configure(t, board, boards.Settings{Mode: mode})
			client := &libtest.Flaky{Client: d.Client}
			if faults {
				client.Before, client.After = libtest.Sometimes(random, 5, libtest.Hot(libtest.TableHot)), libtest.Sometimes(random, 8, libtest.LostAnswer{})
			}
			var writers []*boards.Boards
			for range 4 {
				writers = append(writers, d.boards(client, nil))
			}
			s := newStorm(t, mode, now, lane.Runs(24, 60), rand.New(rand.NewPCG(seed, 2)))
			s.send(t, writers, board)
			want := s.model.ranking("all", now)
			got, err := writers[0].Top(libtest.Within(t), board, "all", 10, now)
			if err != nil {
				t.Fatal(err)
			}
			if faults && client.Lost == 0 {
				t.Error("no answer was lost")
			}
			if !faults || mode != boards.Total {
				samePlaces(t, board, got, want)
			}
		}
	}
}

// TestSumsCountLostAnswersOnceMore checks that a sum counts each accepted score once, and each lost answer at most once.
func TestSumsCountLostAnswersOnceMore(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.configure(t, "b", boards.Settings{Mode: boards.Total})
	n := 0
	client := &libtest.Flaky{Client: d.Client, After: func() error {
		if n++; n%3 == 0 {
			return libtest.LostAnswer{}
		}
		return nil
	}}
	rankings, now, taken := d.boards(client, nil), libtest.Later, 0
	for range 30 {
		if rankings.Submit(libtest.Within(t), "b", scoresOf(t, "ann 1"), now)[0] == nil {
			taken++
		}
	}
	if got := d.entry(t, "b", "all", "ann", now).Score; client.Lost == 0 || got != score(t, strconv.Itoa(taken+client.Lost)) {
		t.Errorf("the sum is %s after %d accepted scores and %d lost answers", got, taken, client.Lost)
	}
}

// TestKeyedScoresCountOnce checks that keyed scores of concurrent processes count once although answers are lost.
func TestKeyedScoresCountOnce(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := deploy(t)
	d.configure(t, "b", boards.Settings{Mode: boards.Total, Periods: []boards.Period{boards.AllTime, boards.Daily}})
	random := rand.New(rand.NewPCG(seed, 1))
	client := &libtest.Flaky{Client: d.Client, Before: libtest.Sometimes(random, 8, libtest.Hot(libtest.TableHot)), After: libtest.Sometimes(random, 5, libtest.LostAnswer{})}
	now := libtest.Later
	var wg sync.WaitGroup
	const writers, calls = 4, 10
	for w := range writers {
		wg.Go(func() {
			rankings, keyed := d.boards(client, nil), once.New(client, d.Names.Items, once.Options{})
			for i := range calls {
				call := once.Call{Key: fmt.Sprint(w, "-", i), Digest: []byte("d"), Answer: []byte("a")}
				actions := func(ctx context.Context) ([]shardmap.Write, error) {
					return rankings.SubmitTransact(ctx, "b", scoresOf(t, "ann 1", "bob 2", "ann 1"), now, libtest.Later)
				}
				for tries := 0; ; tries++ {
					if _, err := keyed.Do(libtest.Within(t), call, now, actions); err == nil {
						break
					} else if tries == 20 {
						t.Errorf("call %s: %v", call.Key, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	for _, label := range []string{"all", boards.Daily.Label(now)} {
		for _, player := range []string{"ann", "bob"} {
			if got := d.entry(t, "b", label, player, now).Score.String(); got != fmt.Sprint(2*writers*calls) {
				t.Errorf("%s in %s: %s, want %d; %d answers lost", player, label, got, 2*writers*calls, client.Lost)
			}
		}
	}
	if client.Lost == 0 {
		t.Error("no answer was lost")
	}
}
