package lambda

import (
	"context"
	"fmt"
	"net/http"
)

// Container serves one request at a time. A Pool calls it from one goroutine at a
// time.
type Container interface {
	// Serve answers a request. After an error, whatever has been written is no
	// answer, and the container is of no more use.
	Serve(w http.ResponseWriter, r *http.Request) error
	// Stop lets go of what it holds.
	Stop() error
}

// Start makes a container: the init phase of a cold start.
type Start func(ctx context.Context) (Container, error)

// InProcess is a container of this process. The handler must have nothing in common
// with other containers', and no goroutine running between requests: this process
// can't freeze one.
func InProcess(handler http.Handler) Container { return inProcess{handler} }

type inProcess struct{ handler http.Handler }

// Serve takes a panic for the end of the container, as a process would end by it.
func (c inProcess) Serve(w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the handler panicked: %v", fault)
		}
	}()
	c.handler.ServeHTTP(w, r)
	return nil
}

func (inProcess) Stop() error { return nil }
