// Package process runs containers of package lambda as processes of a function's binary, for
// tests and benchmarks. A process is frozen between requests, as in Lambda.
//
//	binary, err := process.Build(ctx, root, dir, "ingest")
//	if err != nil {
//		return err
//	}
//	model := system.Lambda{Containers: 4, Starters: map[string]system.Starter{"ingest": process.Starter(binary)}}
package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/lambda"
	"github.com/hotshard/hotshard/internal/aws/runtimeapi"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// nowhere is an endpoint that refuses connections. The HTTP functions send no metrics.
const nowhere = "http://127.0.0.1:1"

// Starter returns a function that makes containers of a binary. They use the tables at an
// engine's URL and have the settings in their environment.
func Starter(binary string) func(endpoint string, names schema.Names, settings map[string]string) lambda.Start {
	return func(endpoint string, names schema.Names, settings map[string]string) lambda.Start {
		variables := runtimeapi.Env(endpoint, dynamolocal.DefaultAccessKey, nowhere, names)
		for name, value := range settings {
			variables = append(variables, name+"="+value)
		}
		return func(ctx context.Context) (lambda.Container, error) {
			return start(ctx, runtimeapi.Options{Binary: binary, Env: variables})
		}
	}
}

// container is a process of a function's binary with its own Runtime API. It is stopped
// (SIGSTOP) between requests, so that only its clocks advance. Requests and responses have API
// Gateway's form.
type container struct {
	function *runtimeapi.Function
	requests int
}

func start(ctx context.Context, o runtimeapi.Options) (lambda.Container, error) {
	f, err := runtimeapi.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &container{function: f}
	if err := c.signal(freeze); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *container) Serve(w http.ResponseWriter, r *http.Request) error {
	c.requests++
	payload, err := eventOf(r, strconv.Itoa(c.function.Pid())+"-"+strconv.Itoa(c.requests))
	if err != nil {
		return err
	}
	if err := c.signal(thaw); err != nil {
		return err
	}
	text, err := c.function.Invoke(r.Context(), payload)
	if err != nil {
		return err
	}
	if err := c.signal(freeze); err != nil {
		return err
	}
	return writeResponse(w, text)
}

func (c *container) signal(s os.Signal) error {
	if err := c.function.Signal(s); err != nil {
		return fmt.Errorf("sending %v to the function's process: %w", s, err)
	}
	return nil
}

// Stop thaws the process first: a stopped process reacts only to SIGKILL.
func (c *container) Stop() error {
	_ = c.signal(thaw) // the process may have ended
	return c.function.Stop()
}

// Build builds a function's binary for this machine and returns its path. Root is the module's
// folder, dir the folder for binaries.
func Build(ctx context.Context, root, dir, function string) (string, error) {
	binary, err := filepath.Abs(filepath.Join(dir, function, "bootstrap"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "lambda.norpc", "-buildvcs=false", "-o", binary, "./functions/"+function)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the function %s: %w\n%s", function, err, out)
	}
	return binary, nil
}
