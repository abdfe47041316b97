package query

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// rig is a service with tables of its own, behind its HTTP handler.
type rig struct {
	t       *testing.T
	client  *dynamodb.Client
	names   schema.Names
	handler http.Handler
	now     time.Time
}

func newRig(t *testing.T) *rig {
	t.Helper()
	client := enginetest.Client(t)
	names := enginetest.Tables(t, client)
	r := &rig{t: t, client: client, names: names, now: enginetest.Later}
	r.serve(client)
	return r
}

// serve replaces the service's client, and optionally its settings.
func (r *rig) serve(client Client, change ...func(*Settings)) {
	r.t.Helper()
	settings := Settings{
		ItemsTable: r.names.Items, EventsTable: r.names.Events, RollupsTable: r.names.Rollups, HeatTable: r.names.Heat, ShardMapTable: r.names.ShardMap,
		Deadline: 25 * time.Second,
	}
	for _, c := range change {
		c(&settings)
	}
	service, err := New(settings, client)
	require.NoError(r.t, err)
	service.setClock(func() time.Time { return r.now })
	r.handler = httpapi.New(slog.New(slog.NewTextHandler(r.t.Output(), nil)), Routes(service))
}

// setClock replaces the service's clock.
func (s *Service) setClock(now func() time.Time) {
	s.now, s.heat.options.Now = now, now
}

// get decodes the response of a GET into an answer, which may be nil, and returns the status.
func (r *rig) get(path string, answer any) int {
	r.t.Helper()
	return getJSON(r.t, r.handler, path, answer)
}

func getJSON(t *testing.T, handler http.Handler, path string, answer any) int {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if answer != nil {
		if err := json.Unmarshal(recorder.Body.Bytes(), answer); err != nil {
			t.Fatalf("%s: %d %s: %v", path, recorder.Code, recorder.Body, err)
		}
	}
	return recorder.Code
}

// mustGet ends the test unless the status is 200.
func mustGet(t *testing.T, handler http.Handler, path string, answer any) {
	t.Helper()
	var text json.RawMessage
	if status := getJSON(t, handler, path, &text); status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, status, text)
	}
	require.NoError(t, json.Unmarshal(text, answer))
}

// heatHandler serves the heat of a source.
func heatHandler(source heat.Source, shards ShardCounts, now *time.Time) http.Handler {
	options := HeatOptions{Shards: shards, Deadline: time.Minute, Now: func() time.Time { return *now }}
	return httpapi.New(slog.New(slog.DiscardHandler), HeatRoutes(NewHeat(source, options)))
}

// problem is an error response.
type problem struct {
	Status int
	Detail string
	Errors []struct{ Location, Message string }
}

// wantInvalid checks that a request is rejected with a message for this location.
func (r *rig) wantInvalid(path, location string) {
	r.t.Helper()
	var p problem
	status := r.get(path, &p)
	if status != http.StatusUnprocessableEntity || p.Status != status || len(p.Errors) == 0 || p.Errors[0].Message == "" || p.Errors[0].Location != location {
		r.t.Errorf("%.100s: %d %+v, want a 422 at %s", path, status, p, location)
	}
}

func (r *rig) increment(counter string, delta int64) {
	r.t.Helper()
	writer := counters.NewWriter(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), counters.Options{})
	require.NoError(r.t, writer.Add(r.t.Context(), counter, delta, r.now))
}

func (r *rig) putEvents(list ...events.Event) {
	r.t.Helper()
	writer := events.NewWriter(r.client, r.names.Events, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), events.Options{})
	for _, err := range writer.Put(r.t.Context(), list, r.now) {
		require.NoError(r.t, err)
	}
}

func (r *rig) putItem(table string, item dynamo.Item) {
	r.t.Helper()
	_, err := r.client.PutItem(r.t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item})
	require.NoError(r.t, err)
}
