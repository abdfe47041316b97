package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

func TestConsoleIsForThisMachine(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:8081", ":8081", "192.168.1.7:8081", "[::]:8081", "example.com:80", "nonsense"} {
		if code, _, err := hotshard(t, "console", "--table", "x", "--addr", addr); code != exitUsage || !strings.Contains(err, "--addr") {
			t.Errorf("%s: exit %d with %q", addr, code, err)
		}
	}
}

// syncBuffer is a buffer that one goroutine writes and another reads.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestConsoleOfATable serves the heat of a table that is not hotshard's.
func TestConsoleOfATable(t *testing.T) {
	t.Parallel()
	endpoint := enginetest.Endpoint(t)
	table := enginetest.Prefix("shown")
	db := dynamolocal.DynamoDB(endpoint, "")
	if _, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var out, errOut syncBuffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"console", "--table", table, "--endpoint", endpoint, "--addr", "127.0.0.1:0"}, streams{out: &out, err: &errOut})
	}()
	get := func(path string, into any) {
		t.Helper()
		_, url, ok := strings.Cut(strings.TrimSpace(out.String()), "the console is at ")
		if !ok {
			return
		}
		response, err := http.Get(strings.TrimSuffix(url, "/") + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err == nil && into != nil {
			err = json.Unmarshal(body, into)
		}
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v: %s", path, response.Status, err, body)
		}
	}
	var hot struct {
		Keys []struct {
			Key, Table string
			Shards     int
		}
	}
	var heat struct {
		Table string
		Total []uint64
	}
	for deadline := time.Now().Add(time.Minute); len(hot.Keys) == 0 && time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		item := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "<img onerror>"}, "at": &types.AttributeValueMemberS{Value: time.Now().String()}}
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
			t.Fatal(err)
		}
		get("/v1/hot-keys", &hot)
	}
	if len(hot.Keys) != 1 || hot.Keys[0].Key != "<img onerror>" || hot.Keys[0].Table != table {
		t.Errorf("hot keys: %+v; %s", hot, errOut.String())
	}
	get("/v1/heat", &heat)
	var sum uint64
	for _, n := range heat.Total {
		sum += n
	}
	if heat.Table != table || sum == 0 {
		t.Errorf("heat: %+v", heat)
	}
	var about struct{ Mode, Table, Where string }
	get("/console/about", &about)
	if about.Mode != "table" || about.Table != table || about.Where != "this machine" {
		t.Errorf("about: %+v", about)
	}
	get("/", nil)
	stop()
	if c := <-code; c != exitOK {
		t.Errorf("exit %d: %s", c, errOut.String())
	}
}
