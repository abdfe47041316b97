package enginetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
)

// PoolVariable names the environment variable with a pool's address.
const PoolVariable = "HOTSHARD_ENGINES"

// Pool lends engines over TCP: a connection gets the URL of an engine in a line, and is its user
// until the connection ends.
type Pool struct {
	options  dynamolocal.Options
	listener net.Listener
	maxAge   time.Duration // of an engine, from which on new processes get another one

	mu      sync.Mutex
	closed  bool
	current *lent // what the next user gets
	err     error // of engines that could not be stopped
}

// lent is an engine with users. The pool is a user of the current one.
type lent struct {
	*dynamolocal.Engine
	since time.Time
	users int
}

// StartPool starts a pool with one engine. The caller must call Stop.
func StartPool(ctx context.Context, o dynamolocal.Options) (*Pool, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Pool{options: o, listener: listener, maxAge: time.Minute}
	if err := p.replace(ctx); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	go p.serve(ctx)
	return p, nil
}

// Addr returns the address for the processes' [PoolVariable].
func (p *Pool) Addr() string { return p.listener.Addr().String() }

// Stop ends the current engine; others end with their users' connections.
func (p *Pool) Stop() error {
	err := p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.leave(p.current)
	return errors.Join(err, p.err)
}

func (p *Pool) serve(ctx context.Context) {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.lend(ctx, conn)
	}
}

// lend serves a connection. If no engine starts, the line is empty and the reason follows.
func (p *Pool) lend(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	engine, err := p.enter(ctx)
	if err != nil {
		fmt.Fprintf(conn, "\n%v", err)
		return
	}
	fmt.Fprintln(conn, engine.Endpoint())
	_, _ = io.Copy(io.Discard, conn) // until the process ends
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave(engine)
}

// enter returns an engine that has one more user.
func (p *Pool) enter(ctx context.Context) (*lent, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, net.ErrClosed
	}
	if time.Since(p.current.since) > p.maxAge {
		if err := p.replace(ctx); err != nil {
			return nil, err
		}
	}
	p.current.users++
	return p.current, nil
}

// replace makes a new engine the current one.
func (p *Pool) replace(ctx context.Context) error {
	engine, err := dynamolocal.StartEngine(ctx, p.options)
	if err != nil {
		return err
	}
	p.options.Notice = nil // the first engine's start tells what is slow
	if p.current != nil {
		p.leave(p.current)
	}
	p.current = &lent{Engine: engine, since: time.Now(), users: 1}
	return nil
}

// leave ends an engine with its last user.
func (p *Pool) leave(e *lent) {
	if e.users--; e.users == 0 {
		p.err = errors.Join(p.err, e.Stop())
	}
}

// kept are the connections of Borrow, which end with the process.
var kept []net.Conn

// BorrowEngine returns the URL of an engine, which lasts as long as this process; "" if [PoolVariable] is
// not set. It must not be called by two goroutines at once. It hides the variable from go test, which
// would take a result for another address as outdated.
func BorrowEngine() (endpoint string, err error) {
	addr, _ := syscall.Getenv(PoolVariable)
	if addr == "" {
		return "", nil
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("borrow an engine at %s=%s: %w", PoolVariable, addr, err)
	}
	kept = append(kept, conn)
	lines := bufio.NewReader(conn)
	line, err := lines.ReadString('\n')
	if endpoint = strings.TrimSpace(line); endpoint == "" {
		reason, _ := io.ReadAll(lines)
		return "", fmt.Errorf("borrow an engine at %s=%s: %w: %s", PoolVariable, addr, errors.Join(err, errors.New("none started")), reason)
	}
	return endpoint, nil
}
