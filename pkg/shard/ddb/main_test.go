package ddb_test

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotshard/hotshard/internal/local"
)

// TestMain fails when a test leaves a goroutine behind. The engine's stay: it ends
// with the process.
func TestMain(m *testing.M) {
	code := m.Run()
	if transport, ok := local.Transport().(*http.Transport); ok {
		transport.CloseIdleConnections()
	}
	if err := leaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// leaks gives goroutines that are about to end five seconds, on a machine that is busy.
func leaks() (err error) {
	for range 20 {
		err = goleak.Find(
			goleak.IgnoreAnyFunction("github.com/hotshard/hotshard/internal/local.(*Engine).run.func1"),
			goleak.IgnoreAnyFunction("os/exec.(*Cmd).Start.func2"), // copies what the engine prints
		)
		if err == nil {
			return nil
		}
		time.Sleep(250 * time.Millisecond)
	}
	return err
}
