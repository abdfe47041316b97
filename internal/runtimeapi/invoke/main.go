// Command invoke starts a function's binary, hands it an event and prints its
// answer; `make invoke` builds the binary first:
//
//	go run ./internal/runtimeapi/invoke .cache/functions/query/bootstrap events/api-health.json
//
// The function works on DynamoDB Local in memory, with empty tables, or on the
// tables of a running `hotshard local --endpoint`, at HOTSHARD_ENDPOINT; more
// settings come from HOTSHARD_ variables. Metrics go
// nowhere, and the function logs so.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/runtimeapi"
	"github.com/hotshard/hotshard/internal/schema"
)

// nowhere refuses connections: port 1 is below those that anybody listens on.
const nowhere = "http://127.0.0.1:1"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "invoke:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) != 2 {
		return errors.New("want a function's binary and an event's file")
	}
	event, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	endpoint, stop, err := engine(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	names := schema.NamesFor("hotshard-")
	if err := local.CreateTables(ctx, local.DynamoDB(endpoint, ""), names); err != nil {
		return fmt.Errorf("tables at %s: %w", endpoint, err)
	}
	env := append(runtimeapi.Env(endpoint, local.DefaultAccessKey, nowhere, names), settings()...)
	f, err := runtimeapi.Start(ctx, runtimeapi.Options{Binary: args[0], Env: env, Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Stop()) }()
	answer, err := f.Invoke(ctx, event)
	if err == nil {
		fmt.Printf("%s\n", answer)
	}
	return err
}

// engine returns an engine's URL, and how to stop it.
func engine(ctx context.Context) (endpoint string, stop func() error, err error) {
	if endpoint := os.Getenv("HOTSHARD_ENDPOINT"); endpoint != "" {
		return endpoint, func() error { return nil }, nil
	}
	e, err := local.StartEngine(ctx, local.Options{Notice: os.Stderr})
	if err != nil {
		return "", nil, err
	}
	return e.Endpoint(), e.Stop, nil
}

// settings are the variables that functions read, from this process's.
func settings() []string {
	own := []string{"AWS_REGION=" + local.Region}
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "HOTSHARD_") {
			own = append(own, v)
		}
	}
	return own
}
