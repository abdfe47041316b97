package boards_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// TestLateAttemptsUndoNoNewerWrite checks that the first attempt of a call for settings or of a removal, if it is applied
// late, changes neither newer settings nor a newer entry.
func TestLateAttemptsUndoNoNewerWrite(t *testing.T) {
	t.Parallel()
	d, hold := deploy(t), 0
	late := &libtest.Late{Client: d.Client, Hold: func() bool {
		hold--
		return hold >= 0
	}}
	rankings, now := d.boards(late, nil), libtest.Later
	submit(t, rankings, "b", now, "ann 1")
	hold = 1
	require.NoError(t, rankings.Configure(libtest.Within(t), "b", boards.Settings{Size: 5}))
	hold = 3 // an entry of each period
	require.NoError(t, rankings.Remove(libtest.Within(t), "b", "ann", now.Add(time.Second)))
	require.NoError(t, rankings.Configure(libtest.Within(t), "b", boards.Settings{Size: 7}))
	require.NoError(t, rankings.Configure(libtest.Within(t), "b", boards.Settings{})) // as before the first
	submit(t, rankings, "b", now.Add(2*time.Second), "ann 2")
	late.Apply(rand.New(rand.NewPCG(1, 1)), 1)
	if s, err := d.boards(d.Client, nil).Settings(libtest.Within(t), "b", now); err != nil || s.Size != 100 || late.Held != 4 {
		t.Errorf("after %d late attempts: %+v, %v; want 4, and size 100", late.Held, s, err)
	}
	if got := d.entry(t, "b", "all", "ann", now).Score.String(); got != "2" {
		t.Errorf("after a late removal: score %s, want 2", got)
	}
}
