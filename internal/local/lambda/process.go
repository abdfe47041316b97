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

	"github.com/hotshard/hotshard/internal/runtimeapi"
)

// StartProcess makes a container that is a process of a function's binary behind a
// Runtime API of its own. It is stopped (SIGSTOP) as soon as it has answered, so that
// nothing of it runs between requests; all its clocks go on. Its requests and answers
// take the form that API Gateway gives them.
func StartProcess(ctx context.Context, o runtimeapi.Options) (Container, error) {
	f, err := runtimeapi.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	p := &process{function: f}
	if err := p.signal(freeze); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

type process struct {
	function *runtimeapi.Function
	requests int
}

func (p *process) Serve(w http.ResponseWriter, r *http.Request) error {
	p.requests++
	payload, err := eventOf(r, strconv.Itoa(p.function.Pid())+"-"+strconv.Itoa(p.requests))
	if err != nil {
		return err
	}
	if err := p.signal(thaw); err != nil {
		return err
	}
	text, err := p.function.Invoke(r.Context(), payload)
	if err != nil {
		return err
	}
	if err := p.signal(freeze); err != nil {
		return err
	}
	return writeAnswer(w, text)
}

func (p *process) signal(s os.Signal) error {
	if err := p.function.Signal(s); err != nil {
		return fmt.Errorf("sending %v to the function's process: %w", s, err)
	}
	return nil
}

// Stop goes on first: a stopped process takes no other signal than SIGKILL.
func (p *process) Stop() error {
	_ = p.signal(thaw) // it may have ended
	return p.function.Stop()
}

// Build builds a function's binary for this machine, and returns its path. Root is the
// folder of the module, dir the one that binaries go to.
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
