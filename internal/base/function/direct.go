package function

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// DirectTransport is an http.RoundTripper for an engine on this machine. It takes half of http.Transport's CPU time: it writes
// each request at once, and reads the response on the caller's goroutine. It uses no HTTP proxy. It is safe for
// concurrent use.
type DirectTransport struct {
	times HTTPTimes
	other http.RoundTripper
	idle  chan *direct
}

const (
	// directIdle is less than the time after which an engine closes an idle connection; dynalite's is 5 s.
	directIdle = 4 * time.Second
	maxDirect  = 1 << 20 // bytes of a request's body
)

// direct is a connection of a DirectTransport.
type direct struct {
	net.Conn
	address string
	in      *bufio.Reader
	out     bytes.Buffer
	since   time.Time // when it became idle
}

// NewDirectTransport returns a DirectTransport. Requests over TLS, of unknown length or over 1 MB go to other.
func NewDirectTransport(t HTTPTimes, other http.RoundTripper) *DirectTransport {
	return &DirectTransport{t, other, make(chan *direct, idlePerHost)}
}

// RoundTrip sends a request and returns the whole response.
func (d *DirectTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "http" || req.ContentLength <= 0 || req.ContentLength > maxDirect {
		return d.other.RoundTrip(req)
	}
	defer req.Body.Close()
	c, err := d.connection(req)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(req.Context(), func() { c.Close() })
	resp, err := c.exchange(req, d.times.Whole)
	if stop() && err == nil && !resp.Close && c.in.Buffered() == 0 {
		c.since = time.Now()
		select {
		case d.idle <- c:
			return resp, nil
		default: // enough connections are idle
		}
	}
	c.Close()
	if err != nil {
		return nil, cmp.Or(req.Context().Err(), err)
	}
	return resp, nil
}

// connection returns an idle connection to the request's host, or a new one.
func (d *DirectTransport) connection(req *http.Request) (*direct, error) {
	address := net.JoinHostPort(req.URL.Hostname(), cmp.Or(req.URL.Port(), "80"))
	for {
		select {
		case c := <-d.idle:
			if c.address == address && time.Since(c.since) < directIdle {
				return c, nil
			}
			c.Close()
		default:
			dialer := net.Dialer{Timeout: d.times.Connect}
			conn, err := dialer.DialContext(req.Context(), "tcp", address)
			if err != nil {
				return nil, err
			}
			return &direct{Conn: conn, address: address, in: bufio.NewReader(conn)}, nil
		}
	}
}

func (c *direct) exchange(req *http.Request, within time.Duration) (*http.Response, error) {
	_ = c.SetDeadline(time.Now().Add(within)) // a closed connection fails to write, too
	c.out.Reset()
	if err := req.Write(&c.out); err != nil {
		return nil, err
	}
	if _, err := c.Write(c.out.Bytes()); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(c.in, req)
	for err == nil && resp.StatusCode < http.StatusOK { // such as 100 Continue
		resp, err = http.ReadResponse(c.in, req)
	}
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	body.Grow(int(min(max(0, resp.ContentLength), maxDirect)) + bytes.MinRead)
	_, err = body.ReadFrom(resp.Body)
	resp.Body = io.NopCloser(&body)
	return resp, err
}
