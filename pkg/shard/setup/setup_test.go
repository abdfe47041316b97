package setup_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestRequiredNames checks that no table is created if a required name is missing or a name is used twice.
func TestRequiredNames(t *testing.T) {
	client := enginetest.Client(t)
	for _, names := range []setup.Names{{}, {Items: "items"}, {Events: "events"}, {ShardMap: "shard-map"},
		{Rollups: "rollups", Heat: "heat"},
		{Items: "one", ShardMap: "one"}, {Items: "one", Events: "one", ShardMap: "map"}, {Events: "e", Rollups: "r", Heat: "r", ShardMap: "map"}} {
		if err := setup.Create(t.Context(), client, names); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%+v: error %v, want ErrMisused", names, err)
		}
	}
	if err := setup.CreateShardMap(t.Context(), client, ""); !errors.Is(err, shard.ErrMisused) {
		t.Errorf("a shard map without a name: error %v, want ErrMisused", err)
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
	for _, names := range []setup.Names{{Items: "a", ShardMap: "a-map"}, {Events: "a", ShardMap: "a-map"}} {
		m := &maker{fails: "a"}
		if err := setup.Create(t.Context(), m, names); !errors.Is(err, errBroken) || !slices.Equal(m.created, []string{"a"}) {
			t.Errorf("%+v: error %v after the tables %v, want %v after a", names, err, m.created, errBroken)
		}
	}
	if got, want := setup.WithPrefix("x-"), (setup.Names{"x-items", "x-events", "x-rollups", "x-shard-map", "x-heat"}); got != want {
		t.Errorf("WithPrefix = %+v, want %+v", got, want)
	}
}

// TestCreateShardMap checks that repeated calls create the shard map's table only, and that keys can be changed in it.
func TestCreateShardMap(t *testing.T) {
	client := enginetest.Client(t)
	for range 2 {
		if err := setup.CreateShardMap(t.Context(), client, "orders-shard-map"); err != nil {
			t.Fatal(err)
		}
	}
	list, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || !slices.Equal(list.TableNames, []string{"orders-shard-map"}) {
		t.Errorf("tables %v, %v; want orders-shard-map", list.TableNames, err)
	}
	shards := shardmap.New(client, "orders-shard-map", shardmap.Options{})
	seen, err := shards.Lookup(t.Context(), "orders/acme", enginetest.Later)
	if err != nil || seen.Key != "orders/acme" {
		t.Fatalf("%+v, %v", seen, err)
	}
	changer := libtest.Patient(shardmap.NewChanger(client, shards, shardmap.ChangerOptions{}))
	if grown, err := changer.GrowFrom(t.Context(), seen, 4, libtest.Note, enginetest.Later); err != nil || grown.Key != "orders/acme" || grown.Most() != 4 {
		t.Errorf("%+v, %v", grown, err)
	}
}
