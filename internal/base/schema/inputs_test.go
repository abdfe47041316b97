package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// small is a table without a sort key, a stream and TTL; its index has all attributes.
var small = Table{Name: "t", PartitionKey: "pk", Indexes: []Index{{Name: "x", PartitionKey: "a", SortKey: "pk"}}}

// inputText returns the parts of an input that tables differ in.
func inputText(in *dynamodb.CreateTableInput) string {
	text := fmt.Sprint(*in.TableName, " ", in.BillingMode, " ", keyText(in.KeySchema))
	for _, d := range in.AttributeDefinitions {
		text += " " + *d.AttributeName + string(d.AttributeType)
	}
	for _, x := range in.GlobalSecondaryIndexes {
		text += fmt.Sprint("; ", *x.IndexName, " ", keyText(x.KeySchema), " ", x.Projection.ProjectionType, x.Projection.NonKeyAttributes)
	}
	if s := in.StreamSpecification; s != nil {
		text += fmt.Sprint("; ", *s.StreamEnabled, " ", s.StreamViewType)
	}
	return text
}

// TestInputs checks what creates a table and turns its expiry on.
func TestInputs(t *testing.T) {
	if got, want := inputText(CreateInput(small)), "t PAY_PER_REQUEST pk aS pkS; x a, pk ALL[]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := "test-items PAY_PER_REQUEST pk, sk board_shardS pkS rank_keyS session_shardS skS; by_rank board_shard, rank_key INCLUDE[row_rev expires_at]; by_group session_shard, sk INCLUDE[started_at ends_at]; true NEW_AND_OLD_IMAGES"
	if got := inputText(CreateInput(items())); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if ExpiryInput(small) != nil {
		t.Error("a table without TTL has an input for it")
	}
	if in := ExpiryInput(items()); *in.TableName != "test-items" || *in.TimeToLiveSpecification.AttributeName != ExpiresAt || !*in.TimeToLiveSpecification.Enabled {
		t.Errorf("%+v", in)
	}
}

// failing fails to create a table.
type failing struct{ existing }

func (f *failing) CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	return nil, errors.New("no access")
}

// TestMakeFails checks that the error names the table, and that a table of another form gets no expiry.
func TestMakeFails(t *testing.T) {
	if err := MakeTable(t.Context(), &failing{}, small); err == nil || err.Error() != "create table t: no access" {
		t.Error(err)
	}
	client := &existing{statuses: []types.TableStatus{types.TableStatusActive}, expiry: []*types.TimeToLiveDescription{nil}}
	if err := MakeTable(t.Context(), client, small); err != nil || len(client.turnedOn) > 0 {
		t.Errorf("a table without TTL: %v, %d changes", err, len(client.turnedOn))
	}
	client.keys = CreateInput(small).KeySchema
	if err := MakeTable(t.Context(), client, items()); err == nil || !strings.Contains(err.Error(), "exists with the key pk instead of pk, sk: use") {
		t.Error(err)
	}
	client = &existing{statuses: []types.TableStatus{types.TableStatusActive}, expiry: []*types.TimeToLiveDescription{nil}}
	if err := MakeTable(t.Context(), client, items()); err == nil || !strings.Contains(err.Error(), "describe its TTL: no response") {
		t.Error(err)
	}
}
