package fold

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// markRecord is the record of a mark of audit a.
func markRecord(n int, sequence string) string {
	return fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":%q,"Keys":{"pk":{"S":"E#e#2026-01-31#0"},"sk":{"S":"2026-01-31T22!a#%d"}},`+
		`"NewImage":{"pk":{"S":"E#e#2026-01-31#0"},"sk":{"S":"2026-01-31T22!a#%d"}}}}`, sequence, n, n)
}

func acks(t *testing.T, db *dynamodb.Client, table string) map[string]string {
	t.Helper()
	out, err := db.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &table, KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: schema.AckPrefix + "a"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, item := range out.Items {
		found[item[schema.SK].(*types.AttributeValueMemberS).Value] = item[schema.StreamShard].(*types.AttributeValueMemberS).Value
	}
	return found
}

// TestMarksAreAcknowledgedAfterWhatCameBefore, and only those.
func TestMarksAreAcknowledgedAfterWhatCameBefore(t *testing.T) {
	h, db := newEvents(t, nil)
	batch := batchOf("s", markRecord(1, "1"), inserted("e", "1", `{"M":{}}`, "2").record(), markRecord(2, "3"))
	client := &switched{db, true}
	h.events = newEventFolder(client, Settings{RollupsTable: h.table}, h.now)
	failed, err := hand(h, batch)
	if err != nil || len(failed) != 1 || !failed["2"] {
		t.Fatalf("failed: %v, %v", failed, err)
	}
	const pk = "E#e#2026-01-31#0#2026-01-31T22!a#"
	if got := acks(t, db, h.table); len(got) != 1 || got[pk+"1"] != "s" {
		t.Errorf("acknowledged: %v", got)
	}
	client.off = false
	must(t, h, batch)
	if got := acks(t, db, h.table); len(got) != 2 || got[pk+"2"] != "s" {
		t.Errorf("acknowledged: %v", got)
	}
	if got := rollups(t, db, h.table, "e")["2026-01-31T22"].Events; got != 1 {
		t.Errorf("%d events: a mark is none", got)
	}
}

// switched is a client whose updates fail while it is off.
type switched struct {
	Client
	off bool
}

func (s *switched) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if s.off {
		return failing{}.UpdateItem(ctx, in, o...)
	}
	return s.Client.UpdateItem(ctx, in, o...)
}

// TestAnAcknowledgementThatFails makes its mark come again.
func TestAnAcknowledgementThatFails(t *testing.T) {
	h, db := newEvents(t, nil)
	h.client = refusingAll{db}
	failed, err := hand(h, batchOf("s", inserted("e", "1", `{"M":{}}`, "1").record(), markRecord(1, "2"), markRecord(2, "3")))
	if err != nil || len(failed) != 2 || !failed["2"] || !failed["3"] {
		t.Fatalf("failed: %v, %v", failed, err)
	}
}

type refusingAll struct{ Client }

func (refusingAll) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, context.DeadlineExceeded
}
