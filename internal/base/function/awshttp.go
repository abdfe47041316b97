package function

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// HTTPTimeouts bound one attempt of a call. DynamoDB responds within milliseconds: after a second without a response, the
// connection is most likely dead.
type HTTPTimeouts struct {
	Connect  time.Duration // for the connection, and again for the TLS handshake
	Response time.Duration // from the sent request to the response headers
	Whole    time.Duration // for the whole attempt, with a response of up to 16 MB
}

// AWSTimeouts are the HTTPTimeouts of DynamoDB. After a time-out there is time for another attempt, since a write's deadline
// is 2 s by default.
var AWSTimeouts = HTTPTimeouts{Connect: time.Second, Response: time.Second, Whole: 10 * time.Second}

// CloudWatchTimeouts are the HTTPTimeouts of CloudWatch, where a GetMetricData of many metrics takes seconds.
var CloudWatchTimeouts = HTTPTimeouts{Connect: time.Second, Response: 10 * time.Second, Whole: 20 * time.Second}

// Bounds of the unused connections that are kept. A request has up to 32 calls in flight to one host, and the next request
// should reuse their connections. The SDK's own client keeps 10.
const (
	maxIdlePerHost = 64
	maxIdle        = 256
)

// idleTime is how long an unused connection is kept. AWS's NAT gateways drop connections silently after 350 s. Go measures
// idleTime by the wall clock, so a container that was frozen for longer opens new connections.
const idleTime = 30 * time.Second

// NewHTTPClient returns a client with these timeouts. It shares no connections with other clients.
func NewHTTPClient(t HTTPTimeouts) *http.Client {
	return &http.Client{Transport: NewTransport(t), Timeout: t.Whole}
}

// NewTransport returns the transport of NewHTTPClient, which callers may wrap. It does not enforce HTTPTimeouts.Whole.
func NewTransport(t HTTPTimeouts) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: t.Connect, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   t.Connect,
		ResponseHeaderTimeout: t.Response,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          maxIdle,
		MaxIdleConnsPerHost:   maxIdlePerHost,
		IdleConnTimeout:       idleTime,
	}
}
