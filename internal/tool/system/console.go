package system

import (
	"context"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/tool/console"
)

// withConsole returns a handler of the API and the console.
func (s *System) withConsole(api http.Handler) http.Handler {
	return console.Handler(api, console.About{
		Mode: "local", Where: "this machine", Command: s.options.Commands.Line("shards set", "--target", s.URL()), Version: s.options.Version, Start: s.options.Start, Demo: s.options.Demo,
		Pipeline: s.readers, Signals: s.signals,
	})
}

// readers returns the progress of the functions that read the stream.
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
