// Package awshttp is the HTTP client that the SDK's clients of a process share: enough
// connections for the calls of a request that run side by side, and a bound on each
// attempt.
//
//	config.HTTPClient = awshttp.New(awshttp.AWS)
package awshttp

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Times bound one attempt of one call. An attempt of over a second has most likely met
// a connection that is dead: DynamoDB answers within milliseconds.
type Times struct {
	Connect time.Duration // to connect, and again for the TLS handshake
	Answer  time.Duration // from the sent request to the answer's header
	Whole   time.Duration // all of it: the largest answers have 16 MB
}

// AWS is for AWS's own endpoints. Within a deadline of 2 s, which is the default of
// writes, there is time for an attempt after one that timed out.
var AWS = Times{Connect: time.Second, Answer: time.Second, Whole: 10 * time.Second}

// A request has at most 32 calls under way to one host, and its next ones find their
// connections again. The SDK's own client keeps 10.
const (
	idlePerHost = 64
	idle        = 256
)

// idleTime is how long a connection is kept unused. Go reckons it by the wall clock, so
// those of a container that was frozen for longer are not used again. What stands
// between drops connections silently after 350 s (AWS's NAT gateways).
const idleTime = 30 * time.Second

// New returns a client with connections of its own.
func New(t Times) *http.Client { return &http.Client{Transport: Transport(t), Timeout: t.Whole} }

// Transport is New's, for those who wrap it; it does not bound the whole attempt.
func Transport(t Times) *http.Transport {
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
