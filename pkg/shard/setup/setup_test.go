package setup_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/setup"
)

// TestNamesThatAreNeeded: without them no table is made.
func TestNamesThatAreNeeded(t *testing.T) {
	client := enginetest.Client(t)
	for _, names := range []setup.Names{{}, {Items: "items"}, {ShardMap: "shard-map"}, {Rollups: "rollups", Heat: "heat"}} {
		if err := setup.Create(t.Context(), client, names); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%+v: %v", names, err)
		}
	}
	list, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(list.TableNames) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}
