package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/tool/system"
)

// deployed is a running system with data.
type deployed struct {
	t     *testing.T
	url   string
	db    *dynamodb.Client
	names schema.Names
	flags []string
}

func deploy(t *testing.T) *deployed {
	t.Helper()
	endpoint, prefix := enginetest.Endpoint(t), enginetest.Prefix("check")
	s := runSystem(t, system.Options{Prefix: prefix, Window: time.Second, Idle: time.Second, Control: "off", Notices: os.Stderr})
	return &deployed{t: t, url: s.URL(), db: dynamolocal.DynamoDB(endpoint, ""), names: schema.NamesFor(prefix), flags: []string{"--endpoint", endpoint, "--prefix", prefix}}
}

func (d *deployed) post(path, body string) {
	d.t.Helper()
	response, err := http.Post(d.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		d.t.Fatalf("%s: status %d", path, response.StatusCode)
	}
}

// createTable creates a table with keys of type S, and with a stream unless the view is "".
func createTable(t *testing.T, db *dynamodb.Client, name string, view types.StreamViewType, keys ...string) {
	t.Helper()
	in := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest}
	for i, key := range keys {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &key, AttributeType: types.ScalarAttributeTypeS})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: &key, KeyType: []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i]})
	}
	if view != "" {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view}
	}
	if _, err := db.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

type item = map[string]types.AttributeValue

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n int) types.AttributeValue    { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

// run runs a command, and checks its exit code and that a failure prints one line.
func (d *deployed) run(want int, args ...string) (out, err string) {
	d.t.Helper()
	code, out, err := hotshard(d.t, append(args, d.flags...)...)
	if code != want || strings.Count(err, "\n") != min(code, 1) {
		d.t.Errorf("%q: exit %d with %q, want %d and a line:\n%s", args, code, err, want, out)
	}
	return out, err
}

func wantText(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, want := range parts {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}
