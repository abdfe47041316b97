package boards_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/boards"
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
