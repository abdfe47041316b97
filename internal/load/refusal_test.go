package load_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/load"
	"github.com/hotshard/hotshard/internal/workload"
)

func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error = %v, want %q", err, text)
		}
	}
}

// Answers that no repetition changes end the load with what they say.
func TestRefusalEndsTheLoad(t *testing.T) {
	for _, path := range []string{"/v1/events", "/v1/counters"} {
		var calls atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/healthz", r.Method == http.MethodGet:
				w.Write([]byte(`{"status":"ok","counter":"hotshard-load-probe","value":0}`))
			case r.URL.Path == path:
				calls.Add(1)
				refuse(w, http.StatusUnprocessableEntity, "a rule is broken")
			default:
				w.Write([]byte(`{"results":[{"status":"accepted"}]}`))
			}
		}))
		_, err := load.Run(t.Context(), load.Options{Target: server.URL, Source: generated(t, workload.Uniform, 100), Concurrency: 1})
		server.Close()
		wantError(t, err, "POST", path, "422 Unprocessable Entity: a rule is broken (body.x: is bad)")
		if n := calls.Load(); n > 2 { // the probe makes a call of its own
			t.Errorf("%s was called %d times", path, n)
		}
	}
}

func TestAnswerOfAnotherLengthEndsTheLoad(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"results":[],"counter":"hotshard-load-probe"}`))
	}))
	defer server.Close()
	_, err := load.Run(t.Context(), load.Options{Target: server.URL, Source: generated(t, workload.Uniform, 1)})
	wantError(t, err, "0 results for 1 items")
}

func TestNoTarget(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	options := load.Options{Target: server.URL, Source: generated(t, workload.Uniform, 1)}
	_, err := load.Run(t.Context(), options)
	wantError(t, err, "no hotshard API at "+server.URL, "404")
	server.Close()
	_, err = load.Run(t.Context(), options)
	wantError(t, err, "no hotshard API at "+server.URL, "connection refused")
}

func TestOptionsNameEveryFault(t *testing.T) {
	_, err := load.Run(t.Context(), load.Options{
		Target: "localhost:80", Concurrency: 2000, Batch: 100, Keyed: true, Rate: -1, Retries: 2000, Settle: -1,
	})
	wantError(t, err, "target ", "concurrency 2000", "batch 100", "rate -1", "retries 2000", "settle ")
	_, err = load.Run(t.Context(), load.Options{
		Target: "http://localhost", Source: generated(t, workload.Uniform, 1), Rate: 1, Bare: &load.Bare{},
	})
	wantError(t, err, "baseline")
	_, err = load.Run(t.Context(), load.Options{Target: "http://localhost"})
	wantError(t, err, "source")
}

// bare records the keys and expressions of a baseline's writes.
type bare struct {
	puts, updates atomic.Int32
	wrong         atomic.Value
}

func (b *bare) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	b.puts.Add(1)
	pk := in.Item["pk"].(*types.AttributeValueMemberS).Value
	sk := in.Item["sk"].(*types.AttributeValueMemberS).Value
	if !strings.HasPrefix(pk, "E#") || !strings.HasSuffix(pk, "-05-17#0") || !strings.HasPrefix(sk, "2015-05-17T") {
		b.wrong.Store(pk + " " + sk)
	}
	return &dynamodb.PutItemOutput{}, nil
}

func (b *bare) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if b.updates.Add(1) == 60 {
		return nil, errors.New("no engine")
	}
	pk := in.Key["pk"].(*types.AttributeValueMemberS).Value
	if !strings.HasPrefix(pk, "C#/") || !strings.HasSuffix(pk, "#0") {
		b.wrong.Store(pk)
	}
	return &dynamodb.UpdateItemOutput{}, nil
}

func TestBaselineMakesTheSameWrites(t *testing.T) {
	f, b := newFake(t), &bare{}
	o := load.Options{Source: logged(t, 50), Bare: &load.Bare{Client: b, Table: "t"}}
	result := run(t, f, o)
	wantClean(t, result, 50)
	if b.puts.Load() != 50 || b.updates.Load() != 50 || b.wrong.Load() != nil {
		t.Errorf("%d puts, %d updates, wrong key %v", b.puts.Load(), b.updates.Load(), b.wrong.Load())
	}
	if result.Baseline == nil || result.Baseline.PerSecond <= 0 || result.Baseline.Ratio <= 0 {
		t.Errorf("baseline = %+v", result.Baseline)
	}
	o.Target = f.URL
	_, err := load.Run(t.Context(), o)
	wantError(t, err, "baseline: counter", "no engine")
}
