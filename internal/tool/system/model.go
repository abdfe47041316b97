package system

import (
	"context"
	"net/http"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// Model runs the functions in another way than directly, for measurements. Its fields may be nil.
type Model struct {
	// Serve returns the API's handler.
	Serve func(context.Context, Deployment) (http.Handler, error)
	// Transport wraps the limiter.
	Transport func(http.RoundTripper) http.RoundTripper
}

// Deployment is what the HTTP functions need.
type Deployment struct {
	Endpoint    string            // the engine's URL, through the limiter if there is one
	Names       schema.Names      // of the tables
	Environment map[string]string // settings
	// Ingest and Query return a handler of the function that shares nothing with others, as a cold start does.
	Ingest, Query func(context.Context) (http.Handler, error)
}
