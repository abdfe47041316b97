package lambda

import (
	"context"
	"fmt"
	"net/http"
)

// Container serves one request at a time. A Pool does not call it concurrently.
type Container interface {
	// Serve responds to a request. After an error the response and the container are discarded.
	Serve(w http.ResponseWriter, r *http.Request) error
	// Stop releases the container's resources.
	Stop() error
}

// Start makes a container: the init phase of a cold start.
type Start func(ctx context.Context) (Container, error)

// InProcess returns a container in this process. The handler must share nothing with other
// containers and run no goroutine between requests, because this process can't freeze it.
func InProcess(handler http.Handler) Container { return inProcess{handler} }

type inProcess struct{ handler http.Handler }

// Serve turns a panic into an error, because it would end a process.
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
