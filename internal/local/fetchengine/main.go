// Command fetchengine readies DynamoDB Local for the tests: it checks that Java
// is there, fetches the engine if need be, and starts it once. `make test` runs
// it first, so that the many test processes find the engine, and so that what is
// missing is said once, in one line. With HOTSHARD_ENDPOINT set there is nothing
// to do.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hotshard/hotshard/internal/local"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := ready(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ready(ctx context.Context) error {
	if os.Getenv("HOTSHARD_ENDPOINT") != "" {
		return nil
	}
	engine, err := local.StartEngine(ctx, local.Options{Notice: os.Stderr})
	if err != nil {
		return err
	}
	return engine.Stop()
}
