// Command withengine starts a DynamoDB Local for the test processes of a command:
//
//	withengine go test ./...
//
// So test processes share a warm engine, and a missing prerequisite is reported once. Its URL is
// in HOTSHARD_SHARED_ENGINE.
// Without a command it checks for Java, fetches the engine if needed, and starts it once. If
// HOTSHARD_ENDPOINT is set it starts no engine.
//
//	withengine -browser go test ./...
//
// also starts a browser once, fetched if needed. If no browser works, the command runs with
// HOTSHARD_BROWSER=none, which skips the tests that need a browser. A message before and after
// the command reports that. `withengine -browser` alone starts no engine, and fails if no
// browser works.
//
// Its exit status is the command's.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/browser"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// heapMB is enough for the concurrent tests of many packages.
const heapMB = 1024

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended) && ended.Exited():
		os.Exit(ended.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, command []string) error {
	if len(command) == 0 || command[0] != "-browser" {
		return withEngine(ctx, command)
	}
	command = command[1:]
	missing := tryBrowser(ctx)
	if len(command) == 0 {
		return missing
	}
	if missing != nil {
		const leftOut = "The console's browser tests are left out"
		fmt.Fprintf(os.Stderr, "%s: %v\n", leftOut, missing)
		defer fmt.Fprintf(os.Stderr, "%s. To run them, install a browser with %s.\n", leftOut, browser.Install)
		if err := os.Setenv(browser.Variable, browser.None); err != nil {
			return err
		}
	}
	return withEngine(ctx, command)
}

// tryBrowser starts a browser and ends it.
func tryBrowser(ctx context.Context) error {
	if os.Getenv(browser.Variable) == browser.None {
		return errors.New(browser.Variable + "=" + browser.None + " is set")
	}
	_, stop, err := browser.Start(ctx, os.Stderr)
	if err == nil {
		stop()
	}
	return err
}

func withEngine(ctx context.Context, command []string) (err error) {
	if os.Getenv("HOTSHARD_ENDPOINT") != "" {
		return follow(ctx, command)
	}
	engine, err := dynamolocal.StartEngine(ctx, dynamolocal.Options{Notice: os.Stderr, HeapMB: heapMB})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Stop()) }()
	if err := os.Setenv(enginetest.Variable, engine.Endpoint()); err != nil {
		return err
	}
	return follow(ctx, command)
}

// follow runs the command to its end. A Ctrl-C also reaches it from the terminal; a SIGTERM is
// passed on.
func follow(ctx context.Context, command []string) error {
	if len(command) == 0 {
		return nil
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd.Run()
}
