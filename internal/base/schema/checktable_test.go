package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// small is a table without a sort key, a stream and TTL; its index has all attributes.
var small = Table{Name: "t", PartitionKey: "pk", Indexes: []Index{{Name: "x", PartitionKey: "a", SortKey: "pk"}}}

// inputText returns the parts of an input that tables differ in.
func inputText(in *dynamodb.CreateTableInput) string {
	text := fmt.Sprint(*in.TableName, " ", in.BillingMode, " ", describeKeys(in.KeySchema, attributeTypes(in.AttributeDefinitions)))
	for _, d := range in.AttributeDefinitions {
		text += " " + *d.AttributeName
	}
	for _, x := range in.GlobalSecondaryIndexes {
		text += fmt.Sprint("; ", *x.IndexName, " ", describeKeys(x.KeySchema, nil), " ", x.Projection.ProjectionType, x.Projection.NonKeyAttributes)
	}
	if s := in.StreamSpecification; s != nil {
		text += fmt.Sprint("; ", *s.StreamEnabled, " ", s.StreamViewType)
	}
	return text
}

// TestInputs checks what creates a table and turns its expiry on.
func TestInputs(t *testing.T) {
	if got, want := inputText(CreateInput(small)), "t PAY_PER_REQUEST pk S a pk; x a , pk  ALL[]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := "test-items PAY_PER_REQUEST pk S, sk S board_shard pk rank_key session_shard sk; by_rank board_shard , rank_key  INCLUDE[row_rev expires_at]; by_group session_shard , sk  INCLUDE[started_at ends_at]; true NEW_AND_OLD_IMAGES"
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

// TestCheck checks how the error names a difference of an existing table from the schema.
func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*types.TableDescription){
		"": func(*types.TableDescription) {},
		"with the key pk S instead of pk S, sk S": func(d *types.TableDescription) { d.KeySchema = d.KeySchema[:1] },
		"with the key pk N, sk S instead of":      func(d *types.TableDescription) { d.AttributeDefinitions[1].AttributeType = "N" },
		"without the index by_group":              func(d *types.TableDescription) { d.GlobalSecondaryIndexes = d.GlobalSecondaryIndexes[:1] },
		"index by_rank has the key board_shard S instead of board_shard": func(d *types.TableDescription) {
			d.GlobalSecondaryIndexes[0].KeySchema = d.GlobalSecondaryIndexes[0].KeySchema[:1]
		},
		"index by_group is DELETING:": func(d *types.TableDescription) {
			d.GlobalSecondaryIndexes[1].IndexStatus = types.IndexStatusDeleting
		},
		"index by_rank is CREATING:": func(d *types.TableDescription) {
			d.GlobalSecondaryIndexes[0].IndexStatus = types.IndexStatusCreating
		},
		"without a stream":        func(d *types.TableDescription) { d.StreamSpecification = nil },
		"exists without a stream": func(d *types.TableDescription) { d.StreamSpecification.StreamEnabled = aws.Bool(false) },
		"holds KEYS_ONLY instead": func(d *types.TableDescription) { d.StreamSpecification.StreamViewType = types.StreamViewTypeKeysOnly },
	} {
		in := CreateInput(items())
		d := &types.TableDescription{KeySchema: in.KeySchema, AttributeDefinitions: in.AttributeDefinitions, StreamSpecification: in.StreamSpecification}
		for _, x := range in.GlobalSecondaryIndexes {
			d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, types.GlobalSecondaryIndexDescription{IndexName: x.IndexName, KeySchema: x.KeySchema, Projection: x.Projection})
		}
		change(d)
		if err := checkTable(d, items()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := checkStream(&types.StreamSpecification{StreamEnabled: aws.Bool(true)}, false); err != nil {
		t.Errorf("a table that needs no stream: %v", err)
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
	client = &existing{statuses: []types.TableStatus{types.TableStatusActive}, expiry: []*types.TimeToLiveDescription{nil}}
	if err := MakeTable(t.Context(), client, items()); err == nil || !strings.Contains(err.Error(), "describe its TTL: no response") {
		t.Error(err)
	}
}
