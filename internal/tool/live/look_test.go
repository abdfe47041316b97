package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/tool/load"
)

// described is the response of DescribeTable.
type described types.TableDescription

func (d *described) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: (*types.TableDescription)(d)}, nil
}

func orders(replicas ...string) *described {
	d := &described{
		TableName: aws.String("orders"), LatestStreamArn: aws.String(fakeARN),
		KeySchema:           []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}
	for _, region := range replicas {
		d.Replicas = append(d.Replicas, types.ReplicaDescription{RegionName: &region})
	}
	return d
}

func readBy(functions ...string) Mappings {
	return func(context.Context, string) ([]string, error) { return functions, nil }
}

// TestTooManyReaders checks when another reader could throttle a stream's Lambda functions, and what the operator reads.
func TestTooManyReaders(t *testing.T) {
	denied := func(context.Context, string) ([]string, error) {
		return nil, errDenied
	}
	unreachable := func(context.Context, string) ([]string, error) { return nil, errors.New("no route") }
	for _, c := range []struct {
		name     string
		table    *described
		mappings Mappings
		line     string
		rejected string // "" if another reader is allowed
	}{
		{"nobody", orders(), readBy(), "No Lambda function reads the stream of orders (limit 2 per shard).", ""},
		{"one mapping", orders(), readBy("a"), "1 Lambda function reads the stream of orders: a (limit", ""},
		{"two mappings", orders(), readBy("a", "b"), "2 Lambda functions read the stream of orders: a, b", "allows 2 readers at once, and another could throttle them"},
		{"three mappings", orders(), readBy("a", "b", "c"), "3 Lambda functions", "another could throttle them"},
		{"global, nobody", orders("eu-west-2"), readBy(), "global table with replicas in eu-west-2 (limit 1 per shard besides replication)", ""},
		{"global, one mapping", orders("eu-west-2"), readBy("a"), "global table", "of a global table allows 1 reader at once, and another could throttle them"},
		{"access denied", orders(), denied, "Can't check which Lambda functions read the stream of orders: access denied to lambda:ListEventSourceMappings", ""},
		{"Lambda unreachable", orders(), unreachable, "Can't check which Lambda functions read the stream of orders: no route", ""},
		{"no Lambda", orders(), nil, "Local engine: can't check for other stream readers (limit 2 per shard).", ""},
	} {
		found, err := FindStream(t.Context(), c.table, c.mappings, "orders")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !strings.Contains(found.Line(), c.line) {
			t.Errorf("%s: Line() = %q, want %q", c.name, found.Line(), c.line)
		}
		err = found.TooMany()
		if (err != nil) != (c.rejected != "") || err != nil && (!strings.Contains(err.Error(), c.rejected) || !strings.Contains(err.Error(), "--force")) {
			t.Errorf("%s: TooMany() = %v, want %q and --force", c.name, err, c.rejected)
		}
		if err != nil && eventsource.IsTransient(err) {
			t.Errorf("%s: IsTransient(%v) = true, so it would be retried for ever", c.name, err)
		}
	}
}

func TestTableWithoutStream(t *testing.T) {
	table := orders()
	table.StreamSpecification = nil
	if _, err := FindStream(t.Context(), table, nil, "orders"); !errors.Is(err, ErrNoStream) {
		t.Errorf("error = %v, want %v", err, ErrNoStream)
	}
}

// TestNote checks the notes about tables whose write units are incomplete.
func TestNote(t *testing.T) {
	keysOnly := orders()
	keysOnly.StreamSpecification.StreamViewType = types.StreamViewTypeKeysOnly
	for _, c := range []struct {
		table *described
		want  string
	}{{orders(), ""}, {keysOnly, "KEYS_ONLY, so write units are lower bounds"}} {
		found, err := FindStream(t.Context(), c.table, nil, "orders")
		note := found.Note()
		if err != nil || (note == "") != (c.want == "") || !strings.Contains(note, c.want) {
			t.Errorf("note %q, %v; want %q", note, err, c.want)
		}
	}
}

// TestEventSourceMappings checks that all pages are read, and that mappings which don't read the stream are left out.
func TestEventSourceMappings(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/2015-03-31/event-source-mappings/" || r.URL.Query().Get("EventSourceArn") != fakeARN || !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/lambda/") {
			t.Errorf("request for %s, want a signed one for the stream's mappings", r.URL)
		}
		if r.URL.Query().Get("Marker") == "" {
			fmt.Fprint(w, `{"EventSourceMappings":[{"State":"Enabled","FunctionArn":"arn:aws:lambda:eu-west-1:1:function:a"},{"State":"Disabled","FunctionArn":"arn:aws:lambda:eu-west-1:1:function:off"}],"NextMarker":"m/1"}`)
			return
		}
		fmt.Fprint(w, `{"EventSourceMappings":[{"State":"Creating","FunctionArn":"arn:aws:lambda:eu-west-1:1:function:b:live"}]}`)
	}))
	defer server.Close()
	client := &load.APIClient{Base: server.URL, HTTP: server.Client(), Sign: load.SignAs(credentials.NewStaticCredentialsProvider("id", "secret", ""), "lambda", "eu-west-1")}
	got, err := EventSourceMappings(client)(t.Context(), fakeARN)
	if err != nil || fmt.Sprint(got) != "[a b:live]" {
		t.Errorf("functions %q, %v; want a and b:live", got, err)
	}
	for status, want := range map[int]string{403: "access denied", 429: "429 Too Many Requests"} {
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		if _, err := EventSourceMappings(client)(t.Context(), fakeARN); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, errDenied) != (status == 403) {
			t.Errorf("after a %d: %v, want %s", status, err, want)
		}
	}
}
