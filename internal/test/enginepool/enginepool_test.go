package enginepool

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

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

// TestReasonWhyNoEngineStarts checks that a user gets the error of an engine that can't start.
func TestReasonWhyNoEngineStarts(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	pool := &Pool{
		options: dynamolocal.Options{Dir: t.TempDir()}, listener: listener,
		current: &lent{users: 1}, maxAge: time.Minute, // since the year 1
	}
	go pool.serve(t.Context())
	defer listener.Close()
	t.Setenv(Variable, pool.Addr())
	if _, err := Borrow(); err == nil || !strings.Contains(err.Error(), "start DynamoDB Local") {
		t.Errorf("an engine without its files: %v", err)
	}
	for _, conn := range kept {
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Error(err)
		}
		conn.Close()
	}
	kept = nil
}
