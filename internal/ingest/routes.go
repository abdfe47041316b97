package ingest

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/httpapi"
)

// Routes registers the service's calls. A nil service serves to document them.
func Routes(s *Service) httpapi.Routes {
	return func(api huma.API) {
		huma.Register(api, operation("/v1/events", "put-events", "Write events"), s.putEvents)
		huma.Register(api, operation("/v1/counters", "add-counters", "Add to counters"), s.addCounters)
	}
}

func operation(path, id, summary string) huma.Operation {
	op := httpapi.Operation(http.MethodPost, path, id, summary)
	op.Errors = append(op.Errors, http.StatusConflict, http.StatusRequestEntityTooLarge)
	return op
}

// Status is what became of one item of a call.
type Status string

// The statuses. A rejected item found no capacity and was not written.
const (
	Accepted Status = "accepted"
	Rejected Status = "rejected"
)
