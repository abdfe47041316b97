package enginepool

import (
	"os"
	"testing"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestEnginesEndWithTheirLastUser checks that a new user gets a new engine if the current one is old. An old engine
// ends with its last user.
func TestEnginesEndWithTheirLastUser(t *testing.T) {
	lane.NeedsEngine(t)
	pool, err := Start(t.Context(), dynamolocal.Options{Notice: os.Stderr})
	require.NoError(t, err)
	first := pool.current.Engine
	borrow := func() (endpoint string) {
		t.Setenv(Variable, pool.Addr())
		endpoint, err = Borrow()
		require.NoError(t, err)
		return endpoint
	}
	giveBack := func() {
		last := len(kept) - 1
		require.NoError(t, kept[last].Close())
		kept = kept[:last]
	}

	if a, b := borrow(), borrow(); a != first.Endpoint() || b != a {
		t.Errorf("the first two users have the engines %s and %s, want %s", a, b, first.Endpoint())
	}
	pool.maxAge = 0
	if c := borrow(); c == first.Endpoint() {
		t.Error("a new user got the old engine")
	}
	second := pool.current.Engine
	giveBack()
	giveBack()
	select {
	case <-first.Done():
		t.Error("an engine ended that has a user")
	default:
	}
	giveBack()
	<-first.Done()
	if err := pool.Stop(); err != nil {
		t.Error(err)
	}
	<-second.Done()
}
