package dynamolocal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Options configure an engine. The zero value is ready to use for tests.
type Options struct {
	Dir    string    // folder of the engine; "" is a folder below CacheDir, fetched if it is missing
	Notice io.Writer // receives a line for each slow step; may be nil

	// DataDir is a folder for the data, created if it is missing. Every write is then synced,
	// which allows 50 to 70 a second. "" keeps the data in memory.
	DataDir string
	// SharedDB makes all callers share one database. Otherwise each access key id (letters and
	// digits) and Region has its own.
	SharedDB bool
	// HeapMB bounds the engine's heap; default 128. That is too little for several concurrent
	// queries that read far more than a page. The engine exits when it has no memory left.
	HeapMB int
}

// Engine is a running DynamoDB Local.
type Engine struct {
	endpoint string
	process  *os.Process
	done     chan struct{}
	err      error // how the process ended; set before done is closed
	output   *outputTail
	claim    net.Listener // claims its port until Stop
}

const (
	startTimeout = 4 * time.Minute // for a JVM on a very busy machine; 1.5 s is usual
	stopTimeout  = 3 * time.Second // 0.3 s is usual; a kill may lose the last transactions, which are answered before they are synced
	startTries   = 5               // attempts to find a free port
)

var errPortInUse = errors.New("the port is in use")

// StartEngine starts DynamoDB Local and returns when it responds. If Java 17 or npm is missing, the error is one line
// that names what to install. If the engine does not start, the error has its output. ctx bounds only the start; the
// caller must call Stop. The engine listens on all interfaces and can't be configured otherwise. On Linux the kernel
// kills it if this process dies.
func StartEngine(ctx context.Context, options Options) (*Engine, error) {
	java, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	if options.Dir == "" {
		if options.Dir, err = FetchEngine(ctx, options.Notice); err != nil {
			return nil, err
		}
	}
	if options.DataDir != "" {
		if options.DataDir, err = filepath.Abs(options.DataDir); err == nil {
			err = os.MkdirAll(options.DataDir, 0o755)
		}
		if err != nil {
			return nil, fmt.Errorf("make the engine's data folder: %w", err)
		}
	}
	if options.Notice != nil {
		fmt.Fprintln(options.Notice, "starting DynamoDB Local")
	}
	for range startTries {
		var engine *Engine
		if engine, err = startOnRandomPort(ctx, java, options); !errors.Is(err, errPortInUse) {
			return engine, err
		}
	}
	return nil, fmt.Errorf("no free port found in %d attempts: %w", startTries, err)
}

// An engine uses a random port of 20,000 to 25,999, below the range of outgoing connections. This process claims the
// port by listening on the port 6,000 above. Without claims, two engines that start on one port at the same time would
// both seem ready.
const (
	firstPort = 20000
	ports     = 6000
)

// startOnRandomPort claims a random port and starts the engine there. The error is errPortInUse if the port is taken.
func startOnRandomPort(ctx context.Context, java string, options Options) (*Engine, error) {
	port := firstPort + rand.IntN(ports)
	claim, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+ports))
	if err != nil {
		return nil, fmt.Errorf("claim port %d for DynamoDB Local: %w: %w", port, errPortInUse, err)
	}
	e, err := startOnPort(ctx, java, options, port)
	if err != nil {
		return nil, errors.Join(err, claim.Close())
	}
	e.claim = claim
	return e, nil
}

// startOnPort starts the engine. The error is errPortInUse if another program has the port.
func startOnPort(ctx context.Context, java string, options Options, port int) (*Engine, error) {
	probe, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return nil, fmt.Errorf("start DynamoDB Local on port %d: %w: %w", port, errPortInUse, err)
	}
	probe.Close()
	e := &Engine{
		endpoint: "http://127.0.0.1:" + strconv.Itoa(port),
		done:     make(chan struct{}),
		output:   &outputTail{},
	}
	cmd := exec.Command(java, engineArgs(options, port)...)
	cmd.Dir = options.Dir
	cmd.Stdout, cmd.Stderr = e.output, e.output
	DieWithParent(cmd)
	if err := e.startProcess(cmd); err != nil {
		return nil, fmt.Errorf("start DynamoDB Local with %s: %w", java, err)
	}
	if err := e.awaitReady(ctx); err != nil {
		err = errors.Join(err, e.Stop())
		if strings.Contains(e.output.String(), "Address already in use") {
			err = fmt.Errorf("%w: %w", errPortInUse, err)
		}
		return nil, fmt.Errorf("start DynamoDB Local on port %d: %w; it printed: %s", port, err, e.output)
	}
	return e, nil
}

func engineArgs(options Options, port int) []string {
	args := []string{
		fmt.Sprintf("-Xmx%dm", cmp.Or(options.HeapMB, 128)), "-XX:+ExitOnOutOfMemoryError", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Djava.library.path=" + filepath.Join(options.Dir, "DynamoDBLocal_lib"),
		"-jar", filepath.Join(options.Dir, engineJar),
		"-disableTelemetry", "-port", strconv.Itoa(port),
	}
	if options.DataDir != "" {
		args = append(args, "-dbPath", options.DataDir)
	} else {
		args = append(args, "-inMemory")
	}
	if options.SharedDB {
		args = append(args, "-sharedDb")
	}
	return args
}

// startProcess starts cmd from a thread that lives until the process ends. The kernel's parent death signal is bound to
// the thread, not to the process.
func (e *Engine) startProcess(cmd *exec.Cmd) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		e.process = cmd.Process
		started <- err
		if err == nil {
			e.err = cmd.Wait()
			close(e.done)
		}
	}()
	return <-started
}

// awaitReady polls with ListTables until the engine sends any response, even a rejection: the request is unsigned.
func (e *Engine) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("it did not respond: %w", context.Cause(ctx))
		case <-e.done:
			return fmt.Errorf("it ended before it responded: %w", e.Err())
		case <-tick.C:
			if e.responds(ctx) {
				return nil
			}
		}
	}
}

func (e *Engine) responds(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, strings.NewReader("{}"))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return true
}

// Endpoint returns the engine's URL.
func (e *Engine) Endpoint() string { return e.endpoint }

// Done returns a channel that is closed when the engine ends.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Err returns how the engine ended, with the end of its output. It returns nil while the engine runs.
func (e *Engine) Err() error {
	select {
	case <-e.done:
		return fmt.Errorf("DynamoDB Local ended (%v); it printed: %s", e.err, e.output)
	default:
		return nil
	}
}

// Stop ends the engine, by SIGTERM and after 3 s by SIGKILL, and waits for its end. It may be called again.
func (e *Engine) Stop() error {
	if e.claim != nil {
		defer e.claim.Close()
	}
	if err := e.process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return errors.Join(fmt.Errorf("stop DynamoDB Local: %w", err), e.kill())
	}
	select {
	case <-e.done:
		return nil
	case <-time.After(stopTimeout):
		return e.kill()
	}
}

func (e *Engine) kill() error {
	if err := e.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill DynamoDB Local: %w", err)
	}
	<-e.done
	return nil
}
