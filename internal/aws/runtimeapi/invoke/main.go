// Command invoke starts a function's binary, invokes it with an event, and prints the response.
// `make invoke` builds the binary first:
//
//	go run ./internal/aws/runtimeapi/invoke .cache/functions/query/bootstrap events/api-health.json
//
// The function uses the tables at HOTSHARD_ENDPOINT, such as those of a running `hotshard local --endpoint`. Without
// that variable it uses empty tables on a DynamoDB Local in memory. Other HOTSHARD_ variables are passed on as
// settings. There is no endpoint for metrics, so the function logs errors about it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/runtimeapi"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// unreachable is an endpoint that refuses connections.
const unreachable = "http://127.0.0.1:1"

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
		return errors.New("want two arguments: a function's binary and a file with an event")
	}
	event, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	endpoint, stop, err := startEngine(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	names := schema.NamesFor("hotshard-")
	if err := dynamolocal.CreateTables(ctx, dynamolocal.DynamoDB(endpoint, ""), names); err != nil {
		return fmt.Errorf("creating the tables at %s: %w", endpoint, err)
	}
	env := append(runtimeapi.Env(endpoint, dynamolocal.DefaultAccessKey, unreachable, names), hotshardEnv()...)
	f, err := runtimeapi.Start(ctx, runtimeapi.Options{Binary: args[0], Env: env, Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Stop()) }()
	response, err := f.Invoke(ctx, event)
	if err == nil {
		fmt.Printf("%s\n", response)
	}
	return err
}

// startEngine returns an engine's URL and a function that stops it.
func startEngine(ctx context.Context) (endpoint string, stop func() error, err error) {
	if endpoint := os.Getenv("HOTSHARD_ENDPOINT"); endpoint != "" {
		return endpoint, func() error { return nil }, nil
	}
	e, err := dynamolocal.StartEngine(ctx, dynamolocal.Options{Notice: os.Stderr})
	if err != nil {
		return "", nil, err
	}
	return e.Endpoint(), e.Stop, nil
}

// hotshardEnv returns the Region and this process's HOTSHARD_ variables, which functions read.
func hotshardEnv() []string {
	own := []string{"AWS_REGION=" + dynamolocal.Region}
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "HOTSHARD_") {
			own = append(own, v)
		}
	}
	return own
}
