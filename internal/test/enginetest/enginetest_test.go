package enginetest_test

import (
	"errors"
	"fmt"
	"slices"
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

// TestHooks checks that the last hook runs first, and that a hook's error is the call's.
func TestHooks(t *testing.T) {
	var order []string
	rejected := errors.New("rejected")
	db := enginetest.Before(dynamodb.New(dynamodb.Options{Region: "nowhere"}), func(in any) error {
		order = append(order, fmt.Sprintf("inner %T", in))
		return rejected
	})
	db = enginetest.Around(db, func(_ any, call func() error) error {
		order = append(order, "outer")
		return call()
	})
	_, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{})
	if want := []string{"outer", "inner *dynamodb.GetItemInput"}; !errors.Is(err, rejected) || !slices.Equal(order, want) {
		t.Errorf("hooks ran as %q, want %q; error %v", order, want, err)
	}
}
