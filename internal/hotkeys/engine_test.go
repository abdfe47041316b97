package hotkeys_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// deployed is a fixture over tables in DynamoDB Local. Tests invoke its detector with records of their own.
type deployed struct {
	*fixture
	db    *dynamodb.Client
	names schema.Names
	view  *shardmap.Map
}

// deploy creates the tables and a detector whose settings may be changed.
func deploy(t *testing.T, change func(*hotkeys.Settings)) *deployed {
	t.Helper()
	d := &deployed{db: enginetest.Client(t)}
	d.names = enginetest.Tables(t, d.db)
	d.keepAll(t)
	d.view = shardmap.New(d.db, d.names.ShardMap, shardmap.Options{})
	s := settings()
	s.ItemsTable, s.EventsTable, s.HeatTable, s.ShardMapTable = d.names.Items, d.names.Events, d.names.Heat, d.names.ShardMap
	change(&s)
	d.fixture = newFixture(settings())
	d.rebuild(t, s, func(deps *hotkeys.Deps) {
		deps.Heat, deps.Shards = d.db, libtest.Patient(shardmap.NewChanger(d.db, d.view, shardmap.ChangerOptions{}))
	})
	return d
}

// keepAll turns TTL off. The tests' clock is in the past, so DynamoDB Local would expire their items.
func (d *deployed) keepAll(t *testing.T) {
	t.Helper()
	for _, table := range []string{d.names.Items, d.names.Heat} {
		_, err := d.db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
			TableName:               &table,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires_at"), Enabled: aws.Bool(false)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// count returns a key's newest shard count in the table.
func (d *deployed) count(t *testing.T, key string) int {
	t.Helper()
	entry, err := d.view.Read(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return entry.History.Newest()
}
