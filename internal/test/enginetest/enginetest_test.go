package enginetest_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// TestDatabasesAreApart checks that each client has its own database, and that Tables and Streams use it.
func TestDatabasesAreApart(t *testing.T) {
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	if err := dynamolocal.CreateTables(t.Context(), db, names); err != nil {
		t.Errorf("creating the tables again: %v", err)
	}
	streams, err := enginetest.Streams(t, db).ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{TableName: &names.Items})
	if err != nil || len(streams.Streams) != 1 {
		t.Errorf("streams of %s: %v, %v", names.Items, streams, err)
	}
	out, err := enginetest.Client(t).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(out.TableNames) != 0 {
		t.Errorf("another client's tables: %v, %v", out, err)
	}
}
