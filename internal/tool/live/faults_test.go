package live

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing/iotest"
)

// Faults of the network and of proxies.
const (
	cutOff      = "a response that is cut off"
	notJSON     = "<html>out of order</html>"
	emptyObject = "{}"
	reset       = "a connection that is reset"
)

// answer returns the response that the caller gets.
func (f *fault) answer() (*http.Response, error) {
	switch f.code {
	case cutOff:
		response := answer(f.status, "")
		response.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"Records":[`), iotest.ErrReader(io.ErrUnexpectedEOF)))
		return response, nil
	case notJSON, emptyObject:
		return answer(f.status, f.code), nil
	case reset:
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return answer(f.status, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"injected"}`, f.code)), nil
}

// passingFaults are the faults after which reading continues.
var passingFaults = []fault{{500, "InternalServerError"}, {503, notJSON}, {200, cutOff}, {200, notJSON}, {200, emptyObject}, {403, notJSON}, {0, reset}}
