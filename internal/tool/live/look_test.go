package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/streamshard"
	"github.com/hotshard/hotshard/internal/base/awscall"
)

// described is DescribeTable's answer.
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

func TestNeverOneReaderTooMany(t *testing.T) {
	denied := func(context.Context, string) ([]string, error) {
		return nil, &awscall.Fault{Action: "lambda:ListEventSourceMappings", Status: 403, Code: "AccessDeniedException"}
	}
	unreachable := func(context.Context, string) ([]string, error) { return nil, errors.New("no route") }
	for _, c := range []struct {
		name     string
		table    *described
		mappings Mappings
		line     string
		refused  string // "" if one more may read
	}{
		{"nobody", orders(), readBy(), "No Lambda function reads the stream of orders (limit 2 per shard).", ""},
		{"one mapping", orders(), readBy("a"), "1 Lambda function reads the stream of orders: a (limit", ""},
		{"two mappings", orders(), readBy("a", "b"), "2 Lambda functions read the stream of orders: a, b", "allows 2 readers at once, and another could throttle them"},
		{"three mappings", orders(), readBy("a", "b", "c"), "3 Lambda functions", "another could throttle them"},
		{"global, nobody", orders("eu-west-2"), readBy(), "global table with replicas in eu-west-2 (limit 1 per shard besides replication)", ""},
		{"global, one mapping", orders("eu-west-2"), readBy("a"), "global table", "of a global table allows 1 reader at once, and another could throttle them"},
		{"not allowed to look", orders(), denied, "Can't check which Lambda functions read the stream of orders: access denied to lambda:ListEventSourceMappings", ""},
		{"Lambda out of reach", orders(), unreachable, "Can't check which Lambda functions read the stream of orders: no route", ""},
		{"no Lambda", orders(), nil, "Local engine: can't check for other stream readers (limit 2 per shard).", ""},
	} {
		found, err := FindStream(t.Context(), c.table, c.mappings, "orders")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !strings.Contains(found.Line(), c.line) {
			t.Errorf("%s: %q, want %q", c.name, found.Line(), c.line)
		}
		err = found.TooMany()
		if (err != nil) != (c.refused != "") || err != nil && (!strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), "--force")) {
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
		if err != nil && streamshard.Passing(err) {
			t.Errorf("%s: %v is waited for, but does not pass", c.name, err)
		}
	}
}

func TestTableWithoutStream(t *testing.T) {
	table := orders()
	table.StreamSpecification = nil
	_, err := FindStream(t.Context(), table, nil, "orders")
	if want := "aws dynamodb update-table --table-name orders --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestNotes(t *testing.T) {
	table := orders()
	if found, err := FindStream(t.Context(), table, nil, "orders"); err != nil || len(found.Notes()) != 0 {
		t.Errorf("%v, %v", found.Notes(), err)
	}
	table.VectorIndexes = []types.VectorIndexDescription{{IndexName: aws.String("alike")}}
	if found, err := FindStream(t.Context(), table, nil, "orders"); err != nil || len(found.Notes()) != 1 || !strings.Contains(found.Notes()[0], "in bytes") || !slices.Contains(found.Indexes(), "alike") {
		t.Errorf("%v, %v", found.Notes(), err)
	}
	table.VectorIndexes = nil
	table.StreamSpecification.StreamViewType = types.StreamViewTypeKeysOnly
	found, err := FindStream(t.Context(), table, nil, "orders")
	if notes := found.Notes(); err != nil || len(notes) != 1 || !strings.Contains(notes[0], "KEYS_ONLY, so write units are lower bounds") {
		t.Errorf("%q, %v", notes, err)
	}
}

// TestEventSourceMappings reads the listing page by page, and leaves out what doesn't read.
func TestEventSourceMappings(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/2015-03-31/event-source-mappings/" || r.URL.Query().Get("EventSourceArn") != fakeARN || r.Header.Get("Authorization") == "" {
			t.Errorf("%s", r.URL)
		}
		if r.URL.Query().Get("Marker") == "" {
			fmt.Fprint(w, `{"EventSourceMappings":[{"State":"Enabled","FunctionArn":"arn:aws:lambda:eu-west-1:1:function:a"},{"State":"Disabled","FunctionArn":"arn:aws:lambda:eu-west-1:1:function:off"}],"NextMarker":"m/1"}`)
			return
		}
		fmt.Fprint(w, `{"EventSourceMappings":[{"State":"Creating","FunctionArn":"arn:aws:lambda:eu-west-1:1:function:b:live"}]}`)
	}))
	defer server.Close()
	client := &awscall.Client{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), Endpoint: func(string) string { return server.URL }}
	got, err := EventSourceMappings(client)(t.Context(), fakeARN)
	if err != nil || fmt.Sprint(got) != "[a b:live]" {
		t.Errorf("%q, %v", got, err)
	}
}
