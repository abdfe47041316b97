package libtest

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
)

// Main runs a package's tests and fails if a test leaks a goroutine, except the engine's. With
// -short it runs no examples, because they need an engine and can't be skipped one by one.
func Main(m *testing.M) {
	if flag.Parse(); testing.Short() {
		if err := flag.Set("test.run", "^(Test|Fuzz)"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if transport, ok := dynamolocal.Transport().(*http.Transport); ok {
		transport.CloseIdleConnections()
	}
	if err := leaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// leaks returns the leaked goroutines. It waits up to five seconds for those that are about to
// end.
func leaks() (err error) {
	for range 20 {
		err = goleak.Find(
			goleak.IgnoreAnyFunction("github.com/hotshard/hotshard/internal/aws/dynamolocal.(*Engine).startProcess.func1"),
			goleak.IgnoreAnyFunction("os/exec.(*Cmd).Start.func2"), // copies the engine's output
		)
		if err == nil {
			return nil
		}
		time.Sleep(250 * time.Millisecond)
	}
	return err
}
