package function

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// HTTPTimes bound one attempt of a call. DynamoDB responds within milliseconds: after a second without a
// response, the connection is most likely dead.
type HTTPTimes struct {
	Connect time.Duration // for the connection, and again for the TLS handshake
	Answer  time.Duration // from the sent request to the response headers
	Whole   time.Duration // for the whole attempt, whose response has up to 16 MB
}

// AWSTimes are the HTTPTimes for AWS's own endpoints. Writes have a deadline of 2 s by default, so there is
// time for another attempt after a time-out.
var AWSTimes = HTTPTimes{Connect: time.Second, Answer: time.Second, Whole: 10 * time.Second}

// CloudWatchTimes are the HTTPTimes for CloudWatch, whose GetMetricData over many metrics takes seconds.
var CloudWatchTimes = HTTPTimes{Connect: time.Second, Answer: 10 * time.Second, Whole: 20 * time.Second}

// A request has at most 32 calls in flight to one host, and the next request reuses their
// connections. The SDK's own client keeps 10.
const (
	idlePerHost = 64
	idle        = 256
)

// idleTime is how long a connection is kept unused. Go measures it by the wall clock, so a
// container that was frozen for longer opens new ones. AWS's NAT gateways drop connections
// silently after 350 s.
const idleTime = 30 * time.Second

// NewHTTPClient returns a client with connections of its own.
func NewHTTPClient(t HTTPTimes) *http.Client {
	return &http.Client{Transport: NewTransport(t), Timeout: t.Whole}
}

// NewTransport returns NewHTTPClient's transport, for callers that wrap it. It does not enforce HTTPTimes.Whole.
func NewTransport(t HTTPTimes) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: t.Connect, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   t.Connect,
		ResponseHeaderTimeout: t.Answer,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          idle,
		MaxIdleConnsPerHost:   idlePerHost,
		IdleConnTimeout:       idleTime,
	}
}
