package setup_test

import (
	"context"
	"errors"
	"slices"
	"strings"
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
		{Items: "one", ShardMap: "one"}, {Items: "one", Events: "one", ShardMap: "map"}, {Events: "e", Rollups: "r", Heat: "r", ShardMap: "map"},
		{ShardMap: "m", PartitionKey: "a", SortKey: "a"}, {ShardMap: "m", PartitionKey: "sk"}, {ShardMap: "m", SortKey: "pk"},
		{Rollups: "r", ShardMap: "m", PartitionKey: "PK"}, {Heat: "h", ShardMap: "m", SortKey: "SK"},
		{ShardMap: "m", SortKey: strings.Repeat("s", 256)}, {ShardMap: "arn:aws:dynamodb:eu-west-1:123456789012:table"}} {
		if err := setup.Create(t.Context(), client, names); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%+v: error %v, want ErrMisused", names, err)
		}
	}
	list, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(list.TableNames) > 0 {
		t.Errorf("tables %v, %v; want none", list, err)
	}
}

// maker is a client that records the tables to create. CreateTable fails for one of them.
type maker struct {
	setup.Client
	fails   string
	created []string
}

var errBroken = errors.New("broken")

func (m *maker) CreateTable(_ context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	m.created = append(m.created, *in.TableName)
	if *in.TableName == m.fails {
		return nil, errBroken
	}
	return &dynamodb.CreateTableOutput{}, nil
}

// TestCreateStopsAtAnError checks which names suffice, and that Create returns the first error, without further tables.
func TestCreateStopsAtAnError(t *testing.T) {
	for _, names := range []setup.Names{{Items: "a", ShardMap: "a-map"}, {Events: "a", ShardMap: "a-map"}, {ShardMap: "a"}} {
		m := &maker{fails: "a"}
		if err := setup.Create(t.Context(), m, names); !errors.Is(err, errBroken) || !slices.Equal(m.created, []string{"a"}) {
			t.Errorf("%+v: error %v after the tables %v, want %v after a", names, err, m.created, errBroken)
		}
	}
	if got, want := setup.WithPrefix("x-"), (setup.Names{Items: "x-items", Events: "x-events", Rollups: "x-rollups", ShardMap: "x-shard-map", Heat: "x-heat"}); got != want {
		t.Errorf("WithPrefix = %+v, want %+v", got, want)
	}
}
