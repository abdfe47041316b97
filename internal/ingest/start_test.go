package ingest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/keyname"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// BenchmarkStart measures a container's init phase without the read of the shard map, and its first request.
func BenchmarkStart(b *testing.B) {
	settings := Settings{
		Deadline: time.Second, Control: growth.Act, MetricNames: keyname.Plain,
		EventAhead: shardmap.MaxAhead, ViewAge: shardmap.ViewAge,
	}
	log := slog.New(slog.DiscardHandler)
	b.Run("all calls at once", func(b *testing.B) { // as the OpenAPI document does
		for b.Loop() {
			httpapi.Describe(Routes(nil))
		}
	})
	for _, requests := range []int{0, 1} {
		b.Run([]string{"init", "and a request"}[requests], func(b *testing.B) {
			for b.Loop() {
				service, err := New(settings, nil, log)
				require.NoError(b, err)
				handler := httpapi.New(log, Routes(service))
				for range requests {
					answer, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/counters", strings.NewReader(`{"increments":[{"counter":"c","delta":0}]}`))
					request.Header.Set("Content-Type", "application/json")
					if handler.ServeHTTP(answer, request); answer.Code != http.StatusUnprocessableEntity {
						b.Fatalf("%d %s", answer.Code, answer.Body)
					}
				}
			}
		})
	}
}
