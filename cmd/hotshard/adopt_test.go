package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
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
	for _, want := range []string{"1 item scanned", "placed has the item's time", "\n    Format: shard.HashShard, PlainFirst: true,", "docs/adopt.md"} {
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
	if code, out, errText = hotshard(t, args...); code != exitBad || out != "" || !strings.Contains(errText, `Table "nowhere" not found at `) {
		t.Errorf("a missing table: exit %d with %q and %q", code, errText, out)
	}
	denied := &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "User: ann is not authorized to perform: dynamodb:Scan on resource: x"}
	if text := (&AdoptCmd{Table: "t"}).source().rejectedText(aws.Config{}, denied); !strings.Contains(text, `may not call dynamodb:Scan for table "t"`) || !strings.HasSuffix(text, "docs/adopt.md.") {
		t.Errorf("a denied call: %q", text)
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
