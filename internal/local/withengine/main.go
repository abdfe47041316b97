// Command withengine runs a command while one DynamoDB Local serves it, whose URL the
// command finds in HOTSHARD_ENDPOINT:
//
//	withengine go test ./...
//
// So that all test processes share an engine that is warm, and that what is missing is
// said once, in one line. Without a command it checks that Java is there, fetches the
// engine if need be, and starts it once. With HOTSHARD_ENDPOINT set it starts none.
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

	"github.com/hotshard/hotshard/internal/local"
)

// heapMB has room for what the tests of many packages keep at a time.
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

func run(ctx context.Context, command []string) (err error) {
	if os.Getenv("HOTSHARD_ENDPOINT") != "" {
		return follow(ctx, command)
	}
	engine, err := local.StartEngine(ctx, local.Options{Notice: os.Stderr, HeapMB: heapMB})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Stop()) }()
	if err := os.Setenv("HOTSHARD_ENDPOINT", engine.Endpoint()); err != nil {
		return err
	}
	return follow(ctx, command)
}

// follow runs the command to its end. A Ctrl-C reaches it from the terminal too; a SIGTERM
// is handed on.
func follow(ctx context.Context, command []string) error {
	if len(command) == 0 {
		return nil
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd.Run()
}
