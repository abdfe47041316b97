package awshttp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Direct is an http.RoundTripper for an engine on this machine. It needs about half of http.Transport's CPU time: each
// request is one write, and is sent and answered in the caller's goroutine. Requests that may not fit in memory, and
// those by TLS, are Other's. It is safe for concurrent use.
type Direct struct {
	Times Times
	Other http.RoundTripper

	mu   sync.Mutex
	idle map[string][]*direct // by address; the latest is last
}

const (
	// directIdle is less than the time after which an engine closes an idle connection. dynalite does after 5 s.
	directIdle = 2 * time.Second
	maxDirect  = 1 << 20 // of a request's body
)

// direct is a connection.
type direct struct {
	net.Conn
	address string
	in      *bufio.Reader
	out     bytes.Buffer
	since   time.Time // when it became idle
}

// RoundTrip sends a request and returns the response's header, and its body as it arrives.
func (d *Direct) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "http" || req.ContentLength <= 0 || req.ContentLength > maxDirect {
		return d.Other.RoundTrip(req)
	}
	defer req.Body.Close()
	c, err := d.connection(req)
	if err != nil {
		return nil, err
	}
	body := &directBody{c: c, d: d, ctx: req.Context(), last: true}
	body.stop = context.AfterFunc(req.Context(), func() { c.Close() })
	resp, err := c.exchange(req, d.Times.Whole)
	if err != nil {
		return nil, body.end(err)
	}
	body.ReadCloser, body.last = resp.Body, resp.Close
	resp.Body = body
	return resp, nil
}

// exchange sends a request and reads the response's header.
func (c *direct) exchange(req *http.Request, within time.Duration) (*http.Response, error) {
	_ = c.SetDeadline(time.Now().Add(within)) // a closed connection also fails to write
	c.out.Reset()
	if err := req.Write(&c.out); err != nil {
		return nil, err
	}
	if _, err := c.Write(c.out.Bytes()); err != nil {
		return nil, err
	}
	for {
		resp, err := http.ReadResponse(c.in, req)
		if err != nil || resp.StatusCode >= http.StatusOK {
			return resp, err
		}
	}
}

// connection returns an idle connection, or a new one.
func (d *Direct) connection(req *http.Request) (*direct, error) {
	address := net.JoinHostPort(req.URL.Hostname(), cmp.Or(req.URL.Port(), "80"))
	if c := d.take(address); c != nil {
		return c, nil
	}
	dialer := net.Dialer{Timeout: d.Times.Connect}
	conn, err := dialer.DialContext(req.Context(), "tcp", address)
	if err != nil {
		return nil, err
	}
	return &direct{Conn: conn, address: address, in: bufio.NewReader(conn)}, nil
}

// take returns the latest idle connection, or nil.
func (d *Direct) take(address string) *direct {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire(address)
	list := d.idle[address]
	if len(list) == 0 {
		return nil
	}
	c := list[len(list)-1]
	d.idle[address] = list[:len(list)-1]
	return c
}

func (d *Direct) put(c *direct) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle == nil {
		d.idle = map[string][]*direct{}
	}
	c.since = time.Now()
	d.expire(c.address)
	d.idle[c.address] = append(d.idle[c.address], c)
}

// expire closes connections that are idle for too long.
func (d *Direct) expire(address string) {
	list := d.idle[address]
	for len(list) > 0 && time.Since(list[0].since) > directIdle {
		list[0].Close()
		list = list[1:]
	}
	if d.idle != nil {
		d.idle[address] = list
	}
}

// directBody is a response's body. At its end the connection becomes idle.
type directBody struct {
	io.ReadCloser
	d    *Direct
	c    *direct // nil after the end
	ctx  context.Context
	stop func() bool
	last bool // the engine closes the connection
}

func (b *directBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		err = b.end(err)
	}
	return n, err
}

// Close closes the connection unless the body was read to its end.
func (b *directBody) Close() error {
	_ = b.end(io.ErrClosedPipe)
	return nil
}

// end ends the exchange. It returns the context's error if that ended first.
func (b *directBody) end(err error) error {
	if b.c == nil {
		return err
	}
	c := b.c
	b.c = nil
	if b.stop() && err == io.EOF && !b.last && c.in.Buffered() == 0 {
		b.d.put(c)
		return err
	}
	c.Close()
	if err != io.EOF {
		err = cmp.Or(b.ctx.Err(), err)
	}
	return err
}
