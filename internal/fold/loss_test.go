package fold

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
)

type failure struct {
	reason, sequence, shard string
	count                   int
}

// failures reads the failures that are noted, by target.
func failures(t *testing.T, db *dynamodb.Client, table string) map[string]failure {
	t.Helper()
	found := map[string]failure{}
	for _, pk := range schema.FailurePartitions() {
		out, err := db.Query(t.Context(), &dynamodb.QueryInput{
			TableName: &table, KeyConditionExpression: aws.String("pk = :pk"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: pk}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range out.Items {
			text := func(name string) string {
				s, _ := item[name].(*types.AttributeValueMemberS)
				if s == nil {
					return ""
				}
				return s.Value
			}
			count, err := strconv.Atoi(item[schema.FailureCount].(*types.AttributeValueMemberN).Value)
			if err != nil {
				t.Fatal(err)
			}
			found[text(schema.SK)] = failure{text(schema.FailureReason), text(schema.FailureSequence), text(schema.StreamShard), count}
		}
	}
	return found
}

// TestARecordThatCannotBeRead is a failure of its target, and holds up nothing.
func TestARecordThatCannotBeRead(t *testing.T) {
	h, db := newEvents(t, nil)
	long := strings.Repeat("1", 41)
	must(t, h, windowed("s",
		inserted("bad", "1", `{"M":{}}`, "1"), inserted("bad", "2", `{"S":"text"}`, "2"), inserted("bad", "3", `{"M":{}}`, "3"),
		inserted("good", "1", `{"M":{}}`, "4"), inserted("long", "1", `{"M":{}}`, long)))
	got := failures(t, db, h.table)
	if len(got) != 2 {
		t.Fatalf("failures: %+v", got)
	}
	if bad := got["E#bad#2026-01-31T22"]; bad.sequence != "2" || bad.shard != "s" || bad.count != 1 || !strings.Contains(bad.reason, "not a map") {
		t.Errorf("failure %+v", bad)
	}
	if got["E#long#2026-01-31T22"].sequence != long {
		t.Errorf("failures: %+v", got)
	}
	for entity, want := range map[string]int64{"bad": 2, "good": 1} {
		if got := rollups(t, db, h.table, entity)["2026-01-31T22"].Events; got != want {
			t.Errorf("%s: %d events, want %d", entity, got, want)
		}
	}
}

// TestATargetThatCannotTakeMore: its records would fail each time they come.
func TestATargetThatCannotTakeMore(t *testing.T) {
	b, db := newBench(t, nil)
	put := func(pk, rev string) {
		key := dynamo.Key(pk, schema.SoleSK)
		key["r1"] = &types.AttributeValueMemberS{Value: rev}
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.handler.table, Item: key}); err != nil {
			t.Fatal(err)
		}
	}
	put("C#damaged#0", "one")
	b.handler.folder.client = refusing{db, "C#full#0"}
	failed := b.deliver(t, []write{
		{counter: "damaged", shard: 1, rev: 1, value: 1, seq: 0}, {counter: "full", shard: 1, rev: 1, value: 1, seq: 1},
		{counter: "full", shard: 1, rev: 2, value: 2, seq: 2}, {counter: "good", shard: 1, rev: 1, value: 7, seq: 3},
	})
	if len(failed) != 0 || b.value(t, "good") != "7" {
		t.Errorf("failed: %v, good %s", failed, b.value(t, "good"))
	}
	got := failures(t, db, b.handler.table)
	if got["C#damaged#0"].count != 1 || got["C#full#0"].count != 2 || got["C#full#0"].sequence != fmt.Sprintf("%021d", 3) {
		t.Errorf("failures %+v", got)
	}
}

// refusing answers the updates of one summary as for an item that is too large.
type refusing struct {
	Client
	pk string
}

func (r refusing) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if in.Key["pk"].(*types.AttributeValueMemberS).Value == r.pk {
		return nil, &smithy.GenericAPIError{Code: "ValidationException", Message: "Item size to update has exceeded the maximum allowed size"}
	}
	return r.Client.UpdateItem(ctx, in, o...)
}

// TestALossThatCannotBeNoted must come again, or it would be forgotten.
func TestALossThatCannotBeNoted(t *testing.T) {
	h, db := newEvents(t, nil)
	h.client = failing{}
	batch := windowed("s", inserted("bad", "1", `{"S":"text"}`, "1"), inserted("good", "1", `{"M":{}}`, "2"))
	failed, err := hand(h, batch)
	if err != nil || len(failed) != 1 || !failed["1"] {
		t.Fatalf("failed: %v, %v", failed, err)
	}
	h.client = db
	must(t, h, batch)
	if got := failures(t, db, h.table); len(got) != 1 {
		t.Errorf("failures: %+v", got)
	}
	if got := rollups(t, db, h.table, "good")["2026-01-31T22"].Events; got != 1 {
		t.Errorf("%d events of another bucket", got)
	}
}

type failing struct{ Client }

func (failing) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, errors.New("not now")
}

// TestARecordThatNamesNoItem can only be noted as such. Both streams have a stream shard s.
func TestARecordThatNamesNoItem(t *testing.T) {
	h, db := newEvents(t, nil)
	for _, table := range kind.Tables() {
		must(t, h, []byte(`{"Records":[{"eventName":"INSERT","dynamodb":{"SequenceNumber":"5"}},
		{"eventName":"LOST","dynamodb":{"SequenceNumber":"6","Keys":{"pk":{"S":"S#group#0"},"sk":{"S":"x"}}}},
		{"eventName":"LOST","dynamodb":{"SequenceNumber":"7","Keys":{"pk":{"S":"C#c#70"},"sk":{"S":"+"}}}}],
		"shardId":"s","eventSourceARN":"arn:aws:dynamodb:eu-west-1:1:table/`+table+`/stream/1","window":{"start":"2026-01-31T22:00:00Z","end":"2026-01-31T22:00:10Z"}}`))
	}
	got := failures(t, db, h.table)
	if len(got) != 3 || got["?items/s#5"].count != 1 || got["?events/s#5"].count != 1 || got["C#c#1"].sequence != "7" {
		t.Errorf("failures: %+v", got)
	}
}
