package main

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// TestAnExistingTableIsSharded runs the program on a table with a hot key and one
// that is not, and reads both.
func TestAnExistingTableIsSharded(t *testing.T) {
	client := enginetest.Client(t)
	ctx := t.Context()
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
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
	table := ddb.Table{Client: client, Name: "orders", PartitionKey: "customer", SortKey: "placed", Shards: ddb.Fixed(1), Layout: ddb.Unsharded{}}
	for i := range 50 {
		for _, customer := range []string{"acme", "calm"} {
			err := table.Put(ctx, ddb.Item{
				"customer": &types.AttributeValueMemberS{Value: customer}, "placed": &types.AttributeValueMemberN{Value: fmt.Sprint(i)},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	shard(t, client, "orders", "customer", "placed", "acme")
	count := func(table ddb.Table, name string) int {
		n, err := table.Count(ctx, name, ddb.Span{})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	sharded := table
	sharded.Shards, sharded.Layout = ddb.Fixed(10), ddb.CalculatedSuffix{}
	if a, b, c := count(sharded, "acme"), count(table, "acme"), count(table, "calm"); a != 50 || b != 0 || c != 50 {
		t.Fatalf("%d are sharded, %d are not, %d of another name", a, b, c)
	}
}

// shard runs the program as its users do.
func shard(t *testing.T, client *dynamodb.Client, args ...string) {
	t.Helper()
	o := client.Options()
	keys, err := o.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "go", append([]string{"run", "."}, args...)...)
	run.Env = append(os.Environ(), "AWS_REGION="+o.Region, "AWS_ENDPOINT_URL_DYNAMODB="+aws.ToString(o.BaseEndpoint),
		"AWS_ACCESS_KEY_ID="+keys.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+keys.SecretAccessKey)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
