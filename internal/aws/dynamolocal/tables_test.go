package dynamolocal_test

import (
	"maps"
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
