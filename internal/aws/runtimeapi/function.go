package runtimeapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
)

// Options configure a function.
type Options struct {
	// Binary is the path of the function's bootstrap, built for this machine. Required.
	Binary string
	// Name is the function's name; the default is the name of the binary's folder.
	Name string
	// Env is the function's environment as NAME=value, in addition to Lambda's. The last of
	// equal names wins. This process's environment is not passed on.
	Env []string
	// Timeout bounds the function's start and each invocation; default 30s.
	Timeout time.Duration
	// Log receives the process's output; nil discards it.
	Log io.Writer
}

// Function is a function's process with its Runtime API. It is safe for concurrent use;
// invocations run one after another.
type Function struct {
	timeout time.Duration
	server  *server
	http    *http.Server
	cmd     *exec.Cmd
	done    chan struct{} // closed when the process ends
	err     error         // how the process ended; set before done is closed

	mu sync.Mutex // held by the invocation in flight
}

const (
	region      = "us-east-1"
	stopTimeout = 5 * time.Second
)

// Start starts the binary and waits until it asks for its first payload. It fails if that takes longer than Timeout, or
// if the process ends before that or reports an init error, which is a [FunctionError].
func Start(ctx context.Context, options Options) (*Function, error) {
	binary, err := filepath.Abs(options.Binary)
	if err != nil {
		return nil, fmt.Errorf("starting the function %s: %w", options.Binary, err)
	}
	options.Binary, options.Name = binary, cmp.Or(options.Name, filepath.Base(filepath.Dir(binary)))
	f, err := startProcess(options)
	if err != nil {
		return nil, fmt.Errorf("starting the function %s: %w", options.Binary, err)
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	if err := f.awaitReady(ctx); err != nil {
		return nil, fmt.Errorf("starting the function %s: %w", options.Binary, errors.Join(err, f.Stop()))
	}
	return f, nil
}

func startProcess(options Options) (*Function, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for its calls of the Runtime API: %w", err)
	}
	f := &Function{
		timeout: cmp.Or(options.Timeout, 30*time.Second),
		server: &server{
			arn:  "arn:aws:lambda:" + region + ":123456789012:function:" + options.Name,
			next: make(chan *invocation), polled: make(chan struct{}), initErr: make(chan error, 1),
		},
		cmd:  exec.Command(options.Binary),
		done: make(chan struct{}),
	}
	f.http = &http.Server{Handler: f.server.handler(), ReadHeaderTimeout: f.timeout}
	f.cmd.Dir = filepath.Dir(options.Binary)
	f.cmd.Env = append(lambdaEnv(listener.Addr().String(), options.Name, f.cmd.Dir), options.Env...)
	f.cmd.Stdout, f.cmd.Stderr = options.Log, options.Log
	dynamolocal.DieWithParent(f.cmd)
	if err := f.cmd.Start(); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	go f.wait()
	go func() { _ = f.http.Serve(listener) }() // ends with Stop
	return f, nil
}

// lambdaEnv returns the variables that Lambda sets; see
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html.
func lambdaEnv(api, name, dir string) []string {
	return []string{
		"AWS_LAMBDA_RUNTIME_API=" + api,
		"AWS_LAMBDA_FUNCTION_NAME=" + name,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256",
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + name,
		"AWS_LAMBDA_LOG_STREAM_NAME=local",
		"AWS_EXECUTION_ENV=AWS_Lambda_provided.al2023",
		"AWS_REGION=" + region, "AWS_DEFAULT_REGION=" + region,
		"LAMBDA_TASK_ROOT=" + dir, "LAMBDA_RUNTIME_DIR=" + dir, "_HANDLER=bootstrap",
		"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=en_US.UTF-8", "TZ=:UTC",
	}
}

func (f *Function) wait() {
	if f.err = f.cmd.Wait(); f.err == nil {
		f.err = errors.New("exit status 0")
	}
	close(f.done)
}

func (f *Function) awaitReady(ctx context.Context) error {
	select {
	case <-f.server.polled:
		return nil
	case err := <-f.server.initErr:
		return err
	case <-f.done:
		select {
		case err := <-f.server.initErr: // it reported an error before it ended
			return err
		default:
			return fmt.Errorf("its process ended before it asked for a payload: %w", f.err)
		}
	case <-ctx.Done():
		return fmt.Errorf("it did not ask for a payload: %w", ctx.Err())
	}
}

// Invoke passes the function a payload and returns its response. A [FunctionError] is the
// function's own error, Runtime.ExitError if the process ended, or Sandbox.Timedout if it took
// too long. After a time-out or the end of ctx the process is killed.
func (f *Function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	deadline := time.Now().Add(f.timeout)
	bounded, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	in := &invocation{id: requestID(), payload: payload, deadline: deadline, outcome: make(chan outcome, 1)}
	select {
	case f.server.next <- in:
	case <-f.done:
		return nil, f.exitError()
	case <-bounded.Done():
		return nil, f.killUnfinished(ctx)
	}
	return f.awaitOutcome(ctx, bounded, in)
}

// awaitOutcome returns the outcome of an invocation. bounded is ctx with the invocation's deadline.
func (f *Function) awaitOutcome(ctx, bounded context.Context, in *invocation) ([]byte, error) {
	select {
	case out := <-in.outcome:
		return out.response, out.err
	case <-bounded.Done():
		return nil, f.killUnfinished(ctx)
	case <-f.done:
		select {
		case out := <-in.outcome: // it responded before it ended
			return out.response, out.err
		default:
			return nil, f.exitError()
		}
	}
}

func (f *Function) exitError() error {
	return &FunctionError{"Runtime.ExitError", "the function's process ended: " + f.err.Error()}
}

// killUnfinished kills the process after a time-out or the end of ctx, and returns the invocation's error.
func (f *Function) killUnfinished(ctx context.Context) error {
	err := f.kill()
	if ctx.Err() != nil {
		return errors.Join(fmt.Errorf("invoking the function: %w", ctx.Err()), err)
	}
	return errors.Join(&FunctionError{"Sandbox.Timedout", fmt.Sprintf("the function did not respond within %v", f.timeout)}, err)
}

// requestID returns a random UUID.
func requestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Pid returns the process's id.
func (f *Function) Pid() int { return f.cmd.Process.Pid }

// Signal sends a signal, such as SIGSTOP and SIGCONT to freeze the process between invocations.
// The error is os.ErrProcessDone if the process has ended.
func (f *Function) Signal(s os.Signal) error { return f.cmd.Process.Signal(s) }

// Done returns a channel that is closed when the process ends.
func (f *Function) Done() <-chan struct{} { return f.done }

// Stop ends the process by SIGTERM, or after 5 s by SIGKILL, and closes the Runtime API. It may be called again.
func (f *Function) Stop() error {
	if f.cmd.Process.Signal(syscall.SIGTERM) == nil {
		select {
		case <-f.done:
		case <-time.After(stopTimeout):
		}
	}
	return errors.Join(f.kill(), f.http.Close())
}

// kill ends the process; it is no error if the process has ended.
func (f *Function) kill() error {
	if err := f.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing the function's process: %w", err)
	}
	<-f.done
	return nil
}
