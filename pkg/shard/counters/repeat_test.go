package counters_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// applied is an engine that replaces the responses of the next applied writes by spoil's.
type applied struct {
	spoil  func() (*http.Response, error)
	next   int64
	writes atomic.Int64 // applied writes whose responses were replaced
}

func (a *applied) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := dynamolocal.Transport().RoundTrip(r)
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	write := operation == "UpdateItem" || operation == "PutItem" || operation == "TransactWriteItems"
	if !write || err != nil || response.StatusCode != http.StatusOK || a.writes.Load() == a.next {
		return response, err
	}
	_ = response.Body.Close()
	a.writes.Add(1)
	return a.spoil()
}

func serverError() (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusInternalServerError, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(`{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"try again"}`)),
	}, nil
}

func reset() (*http.Response, error) { return nil, syscall.ECONNRESET }

// rig has the tables of a case, and a client whose responses may be lost.
type rig struct {
	*libtest.Deployment
	broken *applied
	client *dynamodb.Client
}

func newRig(t *testing.T) *rig {
	r := &rig{Deployment: libtest.Deploy(t), broken: &applied{}}
	r.client = dynamodb.New(r.Client.Options(), func(o *dynamodb.Options) {
		o.HTTPClient, o.Retryer = &http.Client{Transport: r.broken}, retry.NewStandard() // the SDK's default: three attempts
	})
	return r
}

// theirs returns a sharded table of a user.
func (r *rig) theirs(t *testing.T) table.Table {
	return table.Table{Client: r.client, Name: libtest.Theirs(t, r.Client, "S"), PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(1), Layout: table.CalculatedSuffix{}}
}

// errorOf returns the error of a call with one other result.
func errorOf[T any](_ T, err error) error { return err }

// sumCase is a write that adds to a stored value.
type sumCase struct {
	name    string
	keyed   bool // applied once, however often it is sent; its first two responses are lost
	prepare func(t *testing.T, r *rig) func(context.Context) error
}

var sumCases = []sumCase{
	{"an increment", false, func(_ *testing.T, r *rig) func(context.Context) error {
		w := counters.NewWriter(r.client, r.Names.Items, r.Shards, counters.Options{})
		return func(ctx context.Context) error { return w.Add(ctx, "a", 1, libtest.Later) }
	}},
	{"a keyed increment", true, func(_ *testing.T, r *rig) func(context.Context) error {
		w, applier := counters.NewWriter(r.client, r.Names.Items, r.Shards, counters.Options{}), once.New(r.client, r.Names.Items, once.Options{})
		return func(ctx context.Context) error {
			_, err := applier.Do(ctx, once.Call{Key: "k", Answer: []byte("a")}, libtest.Later, func(ctx context.Context) ([]shardmap.Write, error) {
				return []shardmap.Write{w.AddTransact(ctx, "a", 1, libtest.Later)}, nil
			})
			return err
		}
	}},
	{"a hit", false, func(_ *testing.T, r *rig) func(context.Context) error {
		l := limits.New(r.client, r.Names.Items, r.Shards, limits.Options{})
		return func(ctx context.Context) error {
			return errorOf(l.Hit(ctx, limits.Limit{Key: "k", Max: 10, Window: time.Hour}, libtest.Later))
		}
	}},
	{"hits at once", false, func(_ *testing.T, r *rig) func(context.Context) error {
		l := limits.New(r.client, r.Names.Items, r.Shards, limits.Options{})
		return func(ctx context.Context) error {
			return errorOf(l.HitN(ctx, limits.Limit{Key: "k", Max: 10, Window: time.Hour}, 3, libtest.Later))
		}
	}},
	{"a hit that transfers quota", false, func(t *testing.T, r *rig) func(context.Context) error {
		r.SetShards(t, "R#k", fmt.Sprintf("%d:64", libtest.Later.Add(time.Second).Unix()))
		l := limits.New(r.client, r.Names.Items, r.Shards, limits.Options{})
		return func(ctx context.Context) error {
			return errorOf(l.Hit(ctx, limits.Limit{Key: "k", Max: 1000, Window: time.Hour}, libtest.Later.Add(2*time.Second)))
		}
	}},
	{"a score of a board of sums", false, func(t *testing.T, r *rig) func(context.Context) error {
		b := boards.New(r.client, r.Names.Items, r.Shards, boards.Options{})
		require.NoError(t, b.Configure(libtest.Within(t), "b", boards.Settings{Mode: boards.Total}))
		score, err := boards.ParseScore("1")
		require.NoError(t, err)
		submit := func(ctx context.Context) error {
			return errors.Join(b.Submit(ctx, "b", []boards.PlayerScore{{Player: "ann", Score: score}}, libtest.Later)...)
		}
		require.NoError(t, submit(libtest.Within(t))) // settles the mode
		return submit
	}},
	{"a Tally's", false, func(t *testing.T, r *rig) func(context.Context) error {
		tally := &table.Tally{
			Client: r.client, Table: libtest.Theirs(t, r.Client, "S"), PartitionKey: "customer", SortKey: "placed", Sort: libtest.Str("-"), Value: "n", Shards: table.Fixed(4),
		}
		return func(ctx context.Context) error { return tally.Add(ctx, "acme", 1, libtest.Later) }
	}},
	{"a Table's update", false, func(t *testing.T, r *rig) func(context.Context) error {
		orders := r.theirs(t)
		return func(ctx context.Context) error {
			return errorOf(orders.Update(ctx, libtest.Order(1), addOne(), libtest.Later))
		}
	}},
	{"records that are given up", false, func(t *testing.T, r *rig) func(context.Context) error {
		h, err := fold.New(fold.Settings{RollupsTable: r.Names.Rollups, ItemsTable: r.Names.Items, ShardMapTable: r.Names.ShardMap}, r.client, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		return func(ctx context.Context) error {
			answer, err := h.Invoke(ctx, []byte(`{"Records":[{"eventID":"1","eventName":"MODIFY","dynamodb":{"ApproximateCreationDateTime":1.7e9,`+
				`"Keys":{"pk":{"S":"C#a#1"},"sk":{"S":"+"}},"SequenceNumber":"1","NewImage":{"pk":{"S":"C#a#1"},"sk":{"S":"+"},"rev":{"S":"x"}},"StreamViewType":"NEW_AND_OLD_IMAGES"}}]}`))
			if err == nil && bytes.Contains(answer, []byte("itemIdentifier")) {
				err = shard.ErrUnavailable // the record is redelivered
			}
			return err
		}
	}},
	{"POST /v1/counters", false, posted("/v1/counters", `{"increments":[{"counter":"a","delta":1}]}`)},
	{"POST /v1/counters, keyed", true, posted("/v1/counters", `{"increments":[{"counter":"a","delta":1}]}`, "Idempotency-Key", "k")},
	{"POST /v1/limits", false, posted("/v1/limits", `{"key":"k","limit":10,"window":"720h"}`)},
	{"POST /v1/limits, keyed", true, posted("/v1/limits", `{"key":"k","limit":10,"window":"720h"}`, "Idempotency-Key", "k")},
	{"POST /v1/scores", false, posted("/v1/scores", `{"board":"b","scores":[{"player":"ann","score":1}]}`)},
	{"POST /v1/scores, keyed", true, posted("/v1/scores", `{"board":"b","scores":[{"player":"ann","score":1}]}`, "Idempotency-Key", "k")},
}

func addOne() *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: table.Item{":one": libtest.Num(1)},
	}
}

// posted prepares a POST to ingest.
func posted(path, body string, header ...string) func(*testing.T, *rig) func(context.Context) error {
	return func(t *testing.T, r *rig) func(context.Context) error {
		log := slog.New(slog.DiscardHandler)
		service, err := ingest.New(ingest.Settings{
			ItemsTable: r.Names.Items, EventsTable: r.Names.Events, ShardMapTable: r.Names.ShardMap, EventRetention: 720 * time.Hour,
			Deadline: 20 * time.Second, Control: growth.Act, MetricNames: display.Plain, EventAhead: shardmap.MaxAhead, KeyLifetime: 24 * time.Hour, ViewAge: shardmap.ViewAge,
		}, r.client, log)
		require.NoError(t, err)
		handler := httpapi.New(log, ingest.Routes(service))
		send := func(ctx context.Context, method, path, body string, header ...string) error {
			request := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
			request.Header.Set("Content-Type", "application/json")
			for i := 0; i < len(header); i += 2 {
				request.Header.Set(header[i], header[i+1])
			}
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			switch text := recorder.Body.String(); {
			case recorder.Code == http.StatusServiceUnavailable && strings.Contains(text, "may have been"):
				return fmt.Errorf("%w: %s", shard.ErrUnavailable, text)
			case recorder.Code != http.StatusOK:
				return fmt.Errorf("status %d: %s", recorder.Code, text)
			}
			return nil
		}
		for _, before := range [][2]string{
			{http.MethodPut + " /v1/leaderboards", `{"board":"b","mode":"sum"}`},
			{http.MethodPost + " /v1/scores", `{"board":"b","scores":[{"player":"ann","score":1}]}`}, // settles the mode
		} {
			method, path, _ := strings.Cut(before[0], " ")
			require.NoError(t, send(t.Context(), method, path, before[1]))
		}
		return func(ctx context.Context) error { return send(ctx, http.MethodPost, path, body, header...) }
	}
}

// TestASumIsRepeatedOnceAtMost applies each write of the library and the functions that adds to a stored value, and then
// answers it by a 500 or breaks the connection. The write must not be repeated after a 500, and once after a broken connection. Its error is ErrUnavailable, since it may have been counted.
func TestASumIsRepeatedOnceAtMost(t *testing.T) {
	for _, c := range sumCases {
		for _, fault := range []struct {
			name  string
			spoil func() (*http.Response, error)
			most  int64
		}{{"500", serverError, 1}, {"lost connection", reset, 2}} {
			t.Run(c.name+"/"+fault.name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				call := c.prepare(t, r)
				if r.broken.spoil, r.broken.next = fault.spoil, 100; c.keyed {
					r.broken.next = 2
				}
				err := call(libtest.Within(t))
				made := r.broken.writes.Load()
				switch {
				case c.keyed && (err != nil || made == 0):
					t.Errorf("%d keyed writes were made, %v; want success", made, err)
				case !c.keyed && (made != fault.most || !errors.Is(err, shard.ErrUnavailable)):
					t.Errorf("%d writes were made, %v; want %d and ErrUnavailable", made, err, fault.most)
				}
			})
		}
	}
}
