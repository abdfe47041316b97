package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// now is the time of the calls, which does not matter: the counts are fixed.
var now = enginetest.Later

// TestExistingTableIsSharded checks that copy and drop move a key's items to write shards, and leave another key's.
func TestExistingTableIsSharded(t *testing.T) {
	client := enginetest.Client(t)
	ctx, unsharded := t.Context(), orders(t, client)
	for i := range 50 {
		for _, customer := range []string{"acme", "calm"} {
			if err := unsharded.Put(ctx, order(customer, i), now); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := build(t)
	for _, step := range []string{"copy", "copy", "drop", "drop"} { // repeated steps change nothing
		if out, err := run(client, step, "orders", "customer", "placed", "acme"); err != nil {
			t.Fatalf("%s: %v: %s", step, err, out)
		}
		if step == "copy" {
			continue
		}
		if out, err := run(client, "copy", "orders", "customer", "placed", "acme"); err == nil || !strings.Contains(out, "without an old one") {
			t.Fatalf("a copy after a drop: %v: %s", err, out)
		}
	}
	count := func(orders *table.Table, name string) int {
		n, err := orders.Count(ctx, name, table.Span{}, now)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	sharded := *unsharded
	sharded.Shards, sharded.Layout = table.Fixed(10), table.CalculatedSuffix{}
	if a, b, c := count(&sharded, "acme"), count(unsharded, "acme"), count(unsharded, "calm"); a != 50 || b != 0 || c != 50 {
		t.Fatalf("%d items are on write shards, %d are not, %d are of another key; want 50, 0 and 50", a, b, c)
	}
}

// orders creates a table without write shards.
func orders(t *testing.T, client *dynamodb.Client) *table.Table {
	t.Helper()
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("orders"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("customer"), AttributeType: "S"}, {AttributeName: aws.String("placed"), AttributeType: "N"},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("customer"), KeyType: "HASH"}, {AttributeName: aws.String("placed"), KeyType: "RANGE"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &table.Table{Client: client, Name: "orders", PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(1), Layout: table.Unsharded{}}
}

// TestIncompleteRunIsAnError checks that a drop fails, and drops nothing, if items lack a copy or have changed since.
func TestIncompleteRunIsAnError(t *testing.T) {
	client := enginetest.Client(t)
	unsharded := orders(t, client)
	for i := range 5 {
		if err := unsharded.Put(t.Context(), order("acme", i), now); err != nil {
			t.Fatal(err)
		}
	}
	run := build(t)
	if out, err := run(client, "drop", "orders", "customer", "placed", "acme"); err == nil || !strings.Contains(out, "Missing:5") {
		t.Fatalf("a drop without a copy: %v: %s", err, out)
	}
	if out, err := run(client, "copy", "orders", "customer", "placed", "acme"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	changed := order("acme", 3)
	changed["n"] = &types.AttributeValueMemberN{Value: "7"}
	if err := unsharded.Put(t.Context(), changed, now); err != nil {
		t.Fatal(err)
	}
	if out, err := run(client, "drop", "orders", "customer", "placed", "acme"); err == nil || !strings.Contains(out, "Different:1") {
		t.Fatalf("a drop of an item that changed after the copy: %v: %s", err, out)
	}
	if out, err := run(client, "copy", "nowhere", "customer", "placed", "acme"); err == nil {
		t.Fatalf("a copy of a missing table: %s", out)
	}
	if n, err := unsharded.Count(t.Context(), "acme", table.Span{}, now); err != nil || n != 5 {
		t.Fatalf("%d items are left, %v; want 5", n, err)
	}
}

// TestProgramIsShort checks that sharding a table needs fewer than 40 lines.
func TestProgramIsShort(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if lines := strings.Count(string(source), "\n"); err != nil || lines >= 40 {
		t.Fatalf("main.go has %d lines, %v; want fewer than 40", lines, err)
	}
}

func order(customer string, i int) table.Item {
	return table.Item{
		"customer": &types.AttributeValueMemberS{Value: customer}, "placed": &types.AttributeValueMemberN{Value: fmt.Sprint(i)},
	}
}

// build builds the program. The returned function runs it, and returns its output.
func build(t *testing.T) func(client *dynamodb.Client, args ...string) (string, error) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "shardtable")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return func(client *dynamodb.Client, args ...string) (string, error) {
		o := client.Options()
		keys, err := o.Credentials.Retrieve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		run := exec.CommandContext(t.Context(), program, args...)
		run.Env = append(os.Environ(), "AWS_REGION="+o.Region, "AWS_ENDPOINT_URL_DYNAMODB="+aws.ToString(o.BaseEndpoint),
			"AWS_ACCESS_KEY_ID="+keys.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+keys.SecretAccessKey)
		out, err := run.CombinedOutput()
		return string(out), err
	}
}
