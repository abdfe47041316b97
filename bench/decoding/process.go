package decoding

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/aws/runtimeapi"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// inLambda are the functions that are compared as whole processes, with their modules and packages.
var inLambda = []struct{ name, module, pkg string }{
	{"stock", ".", "./decoding/stock"}, {"hotkeys", rig.Root, "./functions/hotkeys"}, {"empty", ".", "./decoding/empty"},
}

// process is one function's results, CPU time for each.
type process struct {
	name              string
	start, first, now []time.Duration // until the first poll, the first call, warm calls
	peak              int             // kB
}

// warmCalls is the number of measured calls after the first one, heatingCalls that of unmeasured calls before them.
const (
	warmCalls    = 20
	heatingCalls = 5
)

// processes runs each function in new processes, in turns.
func processes(ctx context.Context, w io.Writer, rounds int) error {
	dir, err := os.MkdirTemp("", "decoding")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	payload := windowed()
	results := make([]process, len(inLambda))
	for range rounds {
		for i, f := range inLambda {
			binary := filepath.Join(dir, f.name, "bootstrap")
			if err := build(ctx, binary, f.module, f.pkg); err != nil {
				return err
			}
			results[i].name = f.name
			if err := results[i].round(ctx, binary, payload); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
	}
	fmt.Fprintf(w, "\nwhole processes behind a Runtime API, both images: %d B\n", len(payload))
	fmt.Fprintf(w, "%-10s %12s %12s %12s %9s %12s\n", "CPU, ms", "start", "first call", "warm call", "ratio", "peak, MB")
	for _, r := range results {
		warm := median(r.now)
		fmt.Fprintf(w, "%-10s %12.1f %12.1f %12.2f %8.1fx %12.1f\n", r.name, rig.Millis(median(r.start)), rig.Millis(median(r.first)), rig.Millis(warm),
			float64(median(results[0].now))/float64(warm), float64(r.peak)/1024)
	}
	return nil
}

// windowed returns the payload with both images as a delivery in the middle of a window.
func windowed() []byte {
	i := slices.IndexFunc(cases(), func(s shape) bool { return s.name == "both images" })
	payload, _ := cases()[i].payload()
	window := `{"window":{"start":"2026-01-05T05:00:00Z","end":"2026-01-05T05:00:10Z"},"state":{},"shardId":"shardId-00000001767589200000-00000001",` +
		`"isFinalInvokeForWindow":false,"isWindowTerminatedEarly":false,"Records":`
	return bytes.Replace(payload, []byte(`{"Records":`), []byte(window), 1)
}

// build builds a function as make functions does.
func build(ctx context.Context, binary, module, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "lambda.norpc", "-trimpath", "-ldflags", "-s -w", "-o", binary, pkg)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w: %s", pkg, err, out)
	}
	return nil
}

// round measures one process.
func (p *process) round(ctx context.Context, binary string, payload []byte) (err error) {
	const nowhere = "http://127.0.0.1:1" // in the middle of a window nothing is called
	f, err := runtimeapi.Start(ctx, runtimeapi.Options{
		Binary: binary, Env: runtimeapi.Env(nowhere, "local", nowhere, schema.NamesFor("hotshard-")), Log: os.Stderr,
	})
	if err != nil {
		return err
	}
	defer func() { _ = f.Stop() }()
	used, err := processTime(f.Pid())
	if err != nil {
		return err
	}
	p.start = append(p.start, used)
	for i := range 1 + heatingCalls + warmCalls {
		if _, err := f.Invoke(ctx, payload); err != nil {
			return err
		}
		before := used
		if used, err = settled(f.Pid()); err != nil {
			return err
		}
		switch {
		case i == 0:
			p.first = append(p.first, used-before)
		case i > heatingCalls:
			p.now = append(p.now, used-before)
		}
	}
	peak, err := rig.Memory(f.Pid(), "VmHWM")
	p.peak = max(p.peak, peak)
	return err
}

// settled returns the CPU time of a process once it is idle after a call, so that it includes the call's garbage
// collection.
func settled(pid int) (time.Duration, error) {
	last := time.Duration(-1)
	for {
		used, err := processTime(pid)
		if err != nil || used == last {
			return used, err
		}
		last = used
		time.Sleep(20 * time.Millisecond)
	}
}

// processTime returns the CPU time of all of a process's threads. It needs that no thread has ended.
func processTime(pid int) (sum time.Duration, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		ran, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		sum += time.Duration(n)
	}
	return sum, nil
}
