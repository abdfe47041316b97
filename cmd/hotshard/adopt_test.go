package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/adopt"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// TestAdopt checks the output and the exit code for a table that fits, one that does not, and a missing one. It also
// checks that adopt uses the environment's credentials.
func TestAdopt(t *testing.T) {
	endpoint := enginetest.Endpoint(t)
	client := dynamolocal.DynamoDB(endpoint, "")
	name := libtest.Theirs(t, client, "S")
	t.Cleanup(func() { _, _ = client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name}) })
	put := func(customer string) {
		it := table.Item{"customer": libtest.Str(customer), "placed": libtest.Str(shard.Millis.Key(libtest.Epoch, "#", "order-1"))}
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	put("acme")
	args := []string{"adopt", "--table", name, "--format", "#SHARD_", "--endpoint", endpoint}
	code, out, errText := hotshard(t, args...)
	for _, want := range []string{"1 item scanned", "calculated", "\n    Format: shard.HashShard, PlainFirst: true,", "docs/adopt.md"} {
		if code != exitOK || errText != "" || !strings.Contains(out, want) {
			t.Errorf("a table that fits: exit %d with %q, want 0 and %q in\n%s", code, errText, want, out)
		}
	}
	args[2] = "arn:aws:dynamodb:ddblocal:000000000000:table/" + name
	code, out, errText = hotshard(t, args...)
	for _, want := range []string{"1 item scanned", fmt.Sprintf("shardmap.New(client, %q", name+"-shard-map"), fmt.Sprintf("Name: %q", args[2])} {
		if code != exitOK || errText != "" || !strings.Contains(out, want) {
			t.Errorf("by ARN: exit %d with %q, want 0 and %q in\n%s", code, errText, want, out)
		}
	}
	args[2] = name
	put("acme#SHARD_2")
	code, out, errText = hotshard(t, args...)
	if code != exitBad || !strings.Contains(errText, "can't be adopted") || !strings.Contains(errText, `"acme#SHARD_2"`) || strings.Contains(out, "PlainFirst") {
		t.Errorf("a table with a suffixed key: exit %d with %q and\n%s", code, errText, out)
	}
	code, out, _ = hotshard(t, append(args, "--json")...)
	var r adopt.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitBad || r.InTheWay.Keys != 1 || len(r.Refusals) != 1 {
		t.Errorf("the same as JSON: exit %d, %v with\n%s", code, err, out)
	}
	args = []string{"adopt", "--table", "nowhere", "--format", "#", "--endpoint", endpoint}
	if code, out, errText = hotshard(t, args...); code != exitBad || out != "" || !strings.Contains(errText, `There is no table "nowhere".`) {
		t.Errorf("a missing table: exit %d with %q and %q", code, errText, out)
	}
	theirs := dynamolocal.DynamoDB(endpoint, "theirs") // a database of its own in the engine
	foreign := libtest.Theirs(t, theirs, "S")
	t.Cleanup(func() {
		_, _ = theirs.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &foreign})
	})
	t.Setenv("AWS_ACCESS_KEY_ID", "theirs")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", dynamolocal.Region)
	if _, out, errText = hotshard(t, "adopt", "--table", foreign, "--format", "#SHARD_", "--endpoint", endpoint); !strings.Contains(out, "0 items scanned") {
		t.Errorf("with the environment's credentials: %q and %q", errText, out)
	}
}

// TestAdoptEmptyTableNoSortKeyAndOnlyTTL checks the output and the exit code for tables whose items have no time of their own: an empty one,
// one without a sort key, and one whose only number is its TTL.
func TestAdoptEmptyTableNoSortKeyAndOnlyTTL(t *testing.T) {
	endpoint := enginetest.Endpoint(t)
	client := dynamolocal.DynamoDB(endpoint, "")
	empty, expiring := libtest.Theirs(t, client, "S"), libtest.Theirs(t, client, "S")
	single := "single-" + rand.Text()
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &single, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("page"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("page"), KeyType: "HASH"}},
	})
	require.NoError(t, err)
	_, err = client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: &expiring, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("TTL"), Enabled: aws.Bool(true)},
	})
	require.NoError(t, err)
	in := time.Now().Add(7 * 24 * time.Hour).Unix()
	_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &expiring, Item: table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str("a"), "TTL": libtest.Num(in)}})
	require.NoError(t, err)
	for name, want := range map[string]struct{ out, fault string }{
		empty:    {"sort key placed (S)", "The table is empty"},
		expiring: {"TTL is the table's TTL attribute", "fill in the function Time"},
		single:   {"no sort key.", "The table has no sort key"},
	} {
		t.Cleanup(func() {
			_, _ = client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
		})
		code, out, fault := hotshard(t, "adopt", "--table", name, "--endpoint", endpoint)
		fill := name != single
		if code != exitBad || !strings.Contains(out, want.out) || !strings.Contains(fault, want.fault) || fill != strings.Contains(out, "Time: func(it table.Item) (time.Time, error) {") {
			t.Errorf("%s: exit %d with %q and\n%s", name, code, fault, out)
		}
	}
}
