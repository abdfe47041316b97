package query

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/base/throttles/collect"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

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

// serve has the service be over another client.
func (r *rig) serve(client Client) {
	r.t.Helper()
	service, err := New(Settings{
		ItemsTable: r.names.Items, EventsTable: r.names.Events, RollupsTable: r.names.Rollups, HeatTable: r.names.Heat, ShardMapTable: r.names.ShardMap,
		Deadline: 25 * time.Second, DefaultSpan: 720 * time.Hour,
	}, client, collect.Sources{DynamoDB: r.client})
	if err != nil {
		r.t.Fatal(err)
	}
	service.setClock(func() time.Time { return r.now })
	r.handler = httpapi.New(slog.New(slog.NewTextHandler(r.t.Output(), nil)), Routes(service))
}

// setClock has the service go by another clock.
func (s *Service) setClock(now func() time.Time) {
	s.now, s.heat.options.Now, s.explains.options.Now = now, now, now
}

// get reads a path into an answer, and returns the status.
func (r *rig) get(path string, into any) int {
	r.t.Helper()
	recorder := httptest.NewRecorder()
	r.handler.ServeHTTP(recorder, httptest.NewRequestWithContext(r.t.Context(), http.MethodGet, path, nil))
	if into != nil {
		if err := json.Unmarshal(recorder.Body.Bytes(), into); err != nil {
			r.t.Fatalf("%s: %d %s: %v", path, recorder.Code, recorder.Body, err)
		}
	}
	return recorder.Code
}

func (r *rig) add(counter string, delta int64) {
	r.t.Helper()
	writer := counters.NewWriter(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), counters.Options{})
	if err := writer.Add(r.t.Context(), counter, delta, r.now); err != nil {
		r.t.Fatal(err)
	}
}

// summarize puts a counter's summary of write shard 1, as a fold would. Write shard 0 is absent.
func (r *rig) summarize(counter, value string) {
	r.t.Helper()
	_, err := r.client.PutItem(r.t.Context(), &dynamodb.PutItemInput{TableName: &r.names.Rollups, Item: map[string]types.AttributeValue{
		schema.PK:   &types.AttributeValueMemberS{Value: schema.SummaryKey(counter, 0)},
		schema.SK:   &types.AttributeValueMemberS{Value: schema.SoleSK},
		"x1":        &types.AttributeValueMemberN{Value: value},
		schema.AsOf: &types.AttributeValueMemberN{Value: "1000"},
	}})
	if err != nil {
		r.t.Fatal(err)
	}
}

// damage puts a write shard 0 that can't be read.
func (r *rig) damage(counter string) {
	r.t.Helper()
	pk, sk := schema.CounterKey(counter, 0)
	_, err := r.client.PutItem(r.t.Context(), &dynamodb.PutItemInput{TableName: &r.names.Items, Item: map[string]types.AttributeValue{
		schema.PK: &types.AttributeValueMemberS{Value: pk}, schema.SK: &types.AttributeValueMemberS{Value: sk},
		"value": &types.AttributeValueMemberS{Value: "7"},
	}})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) put(list ...events.Event) {
	r.t.Helper()
	writer := events.NewWriter(r.client, r.names.Events, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), events.Options{})
	for _, err := range writer.Put(r.t.Context(), list, r.now) {
		if err != nil {
			r.t.Fatal(err)
		}
	}
}
