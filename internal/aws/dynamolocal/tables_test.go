package dynamolocal_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestCreateTables checks the indexes and TTL of the tables, and that they may exist already.
func TestCreateTables(t *testing.T) {
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	if err := dynamolocal.CreateTables(t.Context(), db, names); err != nil {
		t.Errorf("CreateTables of existing tables: %v", err)
	}
	out, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &names.Items})
	require.NoError(t, err)
	projections := map[string]types.ProjectionType{}
	for _, index := range out.Table.GlobalSecondaryIndexes {
		projections[aws.ToString(index.IndexName)] = index.Projection.ProjectionType
	}
	if want := map[string]types.ProjectionType{schema.ByRank: types.ProjectionTypeInclude, schema.ByGroup: types.ProjectionTypeInclude}; !maps.Equal(projections, want) {
		t.Errorf("the indexes are %v, want %v", projections, want)
	}
	ttl, err := db.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &names.Items})
	if err != nil || ttl.TimeToLiveDescription.TimeToLiveStatus != types.TimeToLiveStatusEnabled {
		t.Errorf("TTL is %+v, %v; want it enabled", ttl, err)
	}
}

func TestCreateTablesRejectsOtherTables(t *testing.T) {
	key := func(name string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: kind}
	}
	define := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	str := types.ScalarAttributeTypeS
	tests := []struct {
		name  string
		keys  []types.KeySchemaElement
		attrs []types.AttributeDefinition
		want  string
	}{
		{"other key", []types.KeySchemaElement{key("id", types.KeyTypeHash)}, []types.AttributeDefinition{define("id", str)},
			"the key id S instead of pk S, sk S"},
		{"other type", []types.KeySchemaElement{key("pk", types.KeyTypeHash), key("sk", types.KeyTypeRange)},
			[]types.AttributeDefinition{define("pk", str), define("sk", types.ScalarAttributeTypeN)}, "the key pk S, sk N instead of pk S, sk S"},
		{"no index", []types.KeySchemaElement{key("pk", types.KeyTypeHash), key("sk", types.KeyTypeRange)},
			[]types.AttributeDefinition{define("pk", str), define("sk", str)}, "without the index by_rank"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db, names := enginetest.Client(t), schema.NamesFor("other-")
			_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
				TableName: &names.Items, BillingMode: types.BillingModePayPerRequest, KeySchema: tt.keys, AttributeDefinitions: tt.attrs,
			})
			require.NoError(t, err)
			err = dynamolocal.CreateTables(t.Context(), db, names)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), names.Items) {
				t.Errorf("error = %v, want %s and %q", err, names.Items, tt.want)
			}
		})
	}
}
