package ingest

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// rig is a service with tables of its own, behind its HTTP handler.
type rig struct {
	t       *testing.T
	client  *dynamodb.Client
	names   schema.Names
	service *Service
	handler http.Handler
	log     *bytes.Buffer
}

func newRig(t *testing.T) *rig {
	t.Helper()
	client := enginetest.Client(t)
	names := enginetest.Tables(t, client)
	r := &rig{t: t, client: client, names: names, log: &bytes.Buffer{}}
	r.use(client)
	return r
}

// use replaces the service's client, and optionally its settings.
func (r *rig) use(client Client, change ...func(*Settings)) {
	r.t.Helper()
	log := slog.New(slog.NewTextHandler(r.log, nil))
	settings := Settings{
		ItemsTable: r.names.Items, EventsTable: r.names.Events, ShardMapTable: r.names.ShardMap,
		EventRetention: 720 * time.Hour, Deadline: 20 * time.Second,
		Control: growth.Act, MetricNames: display.Plain, EventAhead: shardmap.MaxAhead, KeyLifetime: 24 * time.Hour, ViewAge: shardmap.ViewAge,
	}
	for _, c := range change {
		c(&settings)
	}
	service, err := New(settings, client, log)
	require.NoError(r.t, err)
	r.service = service
	r.handler = httpapi.New(log, Routes(service))
}

// wantNothingWritten checks that all tables are empty.
func (r *rig) wantNothingWritten() {
	r.t.Helper()
	if n := r.items(); n != 0 {
		r.t.Errorf("%d items were written", n)
	}
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (r *rig) post(path, body string, header ...string) answer {
	r.t.Helper()
	return r.send(http.MethodPost, path, body, header...)
}

func (r *rig) send(method, path, body string, header ...string) answer {
	r.t.Helper()
	request := httptest.NewRequestWithContext(r.t.Context(), method, path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		request.Header.Add(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	r.handler.ServeHTTP(recorder, request)
	text, _ := io.ReadAll(recorder.Body)
	return answer{recorder.Code, recorder.Header(), text}
}

func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal(a.body, into); err != nil {
		t.Fatalf("answer %d %s: %v", a.status, a.body, err)
	}
}

// items returns the number of items in all tables.
func (r *rig) items() int {
	r.t.Helper()
	n := 0
	for _, table := range schema.StreamTables() {
		out, err := r.client.Scan(r.t.Context(), &dynamodb.ScanInput{TableName: aws.String(r.names.Table(table))})
		require.NoError(r.t, err)
		n += len(out.Items)
	}
	return n
}

// sum reads a counter from its write shards.
func (r *rig) sum(counter string) string {
	r.t.Helper()
	reader := counters.NewReader(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}))
	sum, err := reader.Sum(r.t.Context(), counter)
	require.NoError(r.t, err)
	return sum.Value.String()
}
