package local

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

// Options say how to start an engine. The zero value is good for tests.
type Options struct {
	Dir    string    // folder with the engine; "" is below DefaultCacheDir's, fetched if need be
	Notice io.Writer // takes a line for each step that takes long; nil for none

	// DataDir keeps the data in a folder, which is made if need be; every write
	// is then synced, which allows 50 to 70 a second. "" keeps it in memory.
	DataDir string
	// SharedDB gives all callers one database; otherwise each access key id
	// (letters and digits) and region has a database of its own.
	SharedDB bool
	// HeapMB bounds the engine's heap; default 128, which is too little for several
	// queries at a time that read far more than a page.
	HeapMB int
}

// Engine is a running DynamoDB Local.
type Engine struct {
	endpoint string
	process  *os.Process
	done     chan struct{}
	err      error // how it ended; set before done is closed
	output   *tail
	claim    net.Listener // of its port, until it is stopped
}

const (
	startTimeout = 4 * time.Minute // a JVM on a very busy machine; 1.5 s is usual
	stopTimeout  = 3 * time.Second // 0.3 s is usual; a kill loses nothing, as each write is synced
	startTries   = 5               // picks of a free port
)

var errPortInUse = errors.New("the port is in use")

// StartEngine starts DynamoDB Local and returns when it answers. It fails with
// one line that says what to install when Java 17 or npm is missing, and with
// what the engine printed when it doesn't start. ctx bounds only the start:
// whoever starts an engine calls Stop. It listens on all interfaces, and can't
// be told otherwise. On Linux the kernel kills it should this process die.
func StartEngine(ctx context.Context, o Options) (*Engine, error) {
	java, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	if o.Dir == "" {
		cache, err := DefaultCacheDir()
		if err != nil {
			return nil, err
		}
		if o.Dir, err = amplify.fetch(ctx, cache, o.Notice); err != nil {
			return nil, err
		}
	}
	if o.DataDir != "" {
		if o.DataDir, err = filepath.Abs(o.DataDir); err == nil {
			err = os.MkdirAll(o.DataDir, 0o755)
		}
		if err != nil {
			return nil, fmt.Errorf("make the engine's data folder: %w", err)
		}
	}
	if o.Notice != nil {
		fmt.Fprintln(o.Notice, "starting DynamoDB Local")
	}
	for range startTries {
		var engine *Engine
		if engine, err = startSomewhere(ctx, java, o); !errors.Is(err, errPortInUse) {
			return engine, err
		}
	}
	return nil, err
}

// Engines take one of so many ports from the first on, which lie below the range of
// outgoing connections. Each has another one above those, its claim: two engines that
// start on one port at the same time would both seem ready, by the answers of one.
const (
	firstPort = 20000
	ports     = 6000
)

func startSomewhere(ctx context.Context, java string, o Options) (*Engine, error) {
	port := firstPort + rand.IntN(ports)
	claim, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+ports))
	if err != nil {
		return nil, fmt.Errorf("claim port %d: %w: %w", port, errPortInUse, err)
	}
	e, err := startOn(ctx, java, o, port)
	if err != nil {
		return nil, errors.Join(err, claim.Close())
	}
	e.claim = claim
	return e, nil
}

func startOn(ctx context.Context, java string, o Options, port int) (*Engine, error) {
	free, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return nil, fmt.Errorf("start DynamoDB Local on port %d: %w: %w", port, errPortInUse, err)
	}
	free.Close()
	e := &Engine{
		endpoint: "http://127.0.0.1:" + strconv.Itoa(port),
		done:     make(chan struct{}),
		output:   &tail{},
	}
	cmd := exec.Command(java, engineArgs(o, port)...)
	cmd.Dir = o.Dir
	cmd.Stdout, cmd.Stderr = e.output, e.output
	dieWithParent(cmd)
	if err := e.run(cmd); err != nil {
		return nil, fmt.Errorf("start DynamoDB Local: %w", err)
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

func engineArgs(o Options, port int) []string {
	args := []string{
		fmt.Sprintf("-Xmx%dm", cmp.Or(o.HeapMB, 128)), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Djava.library.path=" + filepath.Join(o.Dir, "DynamoDBLocal_lib"),
		"-jar", filepath.Join(o.Dir, engineJar),
		"-disableTelemetry", "-port", strconv.Itoa(port),
	}
	if o.DataDir != "" {
		args = append(args, "-dbPath", o.DataDir)
	} else {
		args = append(args, "-inMemory")
	}
	if o.SharedDB {
		args = append(args, "-sharedDb")
	}
	return args
}

// run starts cmd from a thread that lives until the process has ended: the
// kernel's parent death signal is bound to the thread, not to the process.
func (e *Engine) run(cmd *exec.Cmd) error {
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

// awaitReady polls with ListTables. Any answer will do: the engine refuses an
// unsigned request, but only once it serves.
func (e *Engine) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("it did not answer: %w", context.Cause(ctx))
		case <-e.done:
			return fmt.Errorf("it ended at once: %w", e.Err())
		case <-tick.C:
			if e.answers(ctx) {
				return nil
			}
		}
	}
}

func (e *Engine) answers(ctx context.Context) bool {
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

// Endpoint is the engine's URL.
func (e *Engine) Endpoint() string { return e.endpoint }

// Done is closed when the engine has ended, by Stop or by itself.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Err says how an engine ended by itself, with the last of what it printed. It
// is nil while the engine runs.
func (e *Engine) Err() error {
	select {
	case <-e.done:
		return fmt.Errorf("DynamoDB Local ended (%v); it printed: %s", e.err, e.output)
	default:
		return nil
	}
}

// Stop ends the engine, first by SIGTERM, then by SIGKILL, and waits until it
// has ended. It may be called again.
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
