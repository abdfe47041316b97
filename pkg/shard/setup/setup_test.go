package setup_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/setup"
)

// TestRequiredNames checks that no table is created if a required name is missing or a name is used twice.
func TestRequiredNames(t *testing.T) {
	client := enginetest.Client(t)
	for _, names := range []setup.Names{{}, {Items: "items"}, {Events: "events"},
		{Rollups: "rollups", Heat: "heat"},
		{Items: "one", ShardMap: "one"}, {Items: "one", Events: "one", ShardMap: "map"}, {Events: "e", Rollups: "r", Heat: "r", ShardMap: "map"}} {
		if err := setup.Create(t.Context(), client, names); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%+v: %v", names, err)
		}
	}
	list, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(list.TableNames) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestOnlyAShardMap checks that a caller's own tables need no other table of hotshard's.
func TestOnlyAShardMap(t *testing.T) {
	client := enginetest.Client(t)
	if err := setup.Create(t.Context(), client, setup.Names{ShardMap: "orders-shard-map"}); err != nil {
		t.Fatal(err)
	}
	list, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(list.TableNames) != 1 || list.TableNames[0] != "orders-shard-map" {
		t.Errorf("%v, %v", list.TableNames, err)
	}
}
