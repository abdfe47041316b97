package system

import (
	"context"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/console"
)

// withConsole serves the console beside the API.
func (s *System) withConsole(api http.Handler) http.Handler {
	return console.Handler(api, console.About{
		Mode: "local", Where: "this machine", Command: "bin/hotshard shards set --target " + s.URL(), Version: s.options.Version, Pipeline: s.readers,
	})
}

// readers tells how far the functions of the stream are.
func (s *System) readers(context.Context) []console.Reader {
	readers := []console.Reader{}
	for _, m := range s.mappings {
		stats := m.Stats()
		reader := console.Reader{Name: m.Name(), GivenUp: stats.GivenUp}
		if !stats.Reached.IsZero() {
			lag := max(0, time.Since(stats.Reached).Seconds())
			reader.Lag = &lag
		}
		readers = append(readers, reader)
	}
	return readers
}
