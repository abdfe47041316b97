package wingtest

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotshard/hotshard/internal/local"
)

// Main runs a package's tests, and fails when a test leaves a goroutine behind. The engine's stay: it ends
// with the process. The examples need it, and can't be skipped one by one: with -short
// they are not run.
func Main(m *testing.M) {
	if flag.Parse(); testing.Short() {
		if err := flag.Set("test.run", "^(Test|Fuzz)"); err != nil {
			panic(err)
		}
	}
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
