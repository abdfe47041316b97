package lambda

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/runtimeapi"
	"github.com/hotshard/hotshard/internal/tool/system"
)

// nowhere is an endpoint that refuses connections. The HTTP functions send no metrics.
const nowhere = "http://127.0.0.1:1"

// processes returns a function that starts containers which are processes of a function's binary.
func processes(binary string, d system.Deployment) start {
	variables := runtimeapi.Env(d.Endpoint, dynamolocal.DefaultAccessKey, nowhere, d.Names)
	for name, value := range d.Environment {
		variables = append(variables, name+"="+value)
	}
	return func(ctx context.Context) (container, error) {
		return startProcess(ctx, runtimeapi.Options{Binary: binary, Env: variables})
	}
}

// process is a container that is a process of a function's binary with its own Runtime API. It is stopped (SIGSTOP)
// between requests, so that only its clocks advance. Requests and responses have API Gateway's form.
type process struct {
	function *runtimeapi.Function
	requests int
}

func startProcess(ctx context.Context, o runtimeapi.Options) (container, error) {
	f, err := runtimeapi.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	p := &process{function: f}
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

func (p *process) serve(w http.ResponseWriter, r *http.Request) error {
	p.requests++
	payload, err := eventOf(r, strconv.Itoa(p.function.Pid())+"-"+strconv.Itoa(p.requests))
	if err != nil {
		return err
	}
	if err := p.signal(syscall.SIGCONT); err != nil {
		return err
	}
	text, err := p.function.Invoke(r.Context(), payload)
	if err != nil {
		return err
	}
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return writeResponse(w, text)
}

func (p *process) signal(s os.Signal) error {
	if err := p.function.Signal(s); err != nil {
		return fmt.Errorf("sending %v to the function's process: %w", s, err)
	}
	return nil
}

// stop thaws the process first: a stopped process reacts only to SIGKILL.
func (p *process) stop() error {
	_ = p.signal(syscall.SIGCONT) // the process may have ended
	return p.function.Stop()
}

// Build builds a function's binary for this machine and returns its path. Root is the module's folder, dir the folder
// for binaries.
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
