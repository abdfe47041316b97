package hotkeys_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/hotkeys"
)

// existing returns settings for a table that hotshard did not shard.
func existing(heat, table string) hotkeys.Settings {
	s := settings()
	s.SourceTable, s.ItemsTable, s.EventsTable, s.ShardMapTable, s.HeatTable = table, "", "", "", heat
	s.PartitionWCU = 10
	return s
}

// TestKeysOfHotshardsForm checks that a foreign table's keys of hotshard's form are reported with advice, and never
// changed.
func TestKeysOfHotshardsForm(t *testing.T) {
	f := strangersDetector(t, "pk")
	f.must(t, unwindowed(repeat("C#a#0", 150, 1), 1))
	row := f.rows(t)[0]
	if _, own := row.Base(); own || row.Status != heat.Saturated || !strings.Contains(row.Advice(&row, heat.Sharding{}), "Split it across") {
		t.Errorf("%+v: %s", row, row.Advice(&row, heat.Sharding{}))
	}
	if len(f.values("KeyWriteUnitsPerSecond")["parcels C#a#0"]) == 0 || !strings.Contains(f.logs.String(), `"hot key" table=parcels`) || !strings.Contains(f.logs.String(), "Split it across") || strings.Contains(f.logs.String(), "shard count") {
		t.Errorf("metrics %v\n%s", f.sink.data, f.logs)
	}
	if got := f.shrinkTask(t); got != (taskResult{}) {
		t.Errorf("shrink task: %+v; want no keys", got)
	}
}

// tables describes the table orders, with or without a stream.
type tables struct{ stream bool }

func (d tables) DescribeTable(_ context.Context, in *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	if !strings.HasSuffix(*in.TableName, "orders") {
		return nil, errors.New("no such table")
	}
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{
		TableName: aws.String("orders"), KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: &d.stream},
	}}, nil
}

func TestFindSource(t *testing.T) {
	const arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/"
	for table, want := range map[string]string{"nowhere": "describing table nowhere", "orders": "orders: the table has no stream"} {
		if _, err := hotkeys.FindSource(t.Context(), tables{}, existing("r", table)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("FindSource of %s: error %v, want %s", table, err, want)
		}
	}
	if got, err := hotkeys.FindSource(t.Context(), tables{true}, existing("r", arn+"orders")); err != nil || got.Table != "orders" || got.PartitionKey != "id" {
		t.Errorf("FindSource by ARN: %v, %+v", err, got)
	}
	for _, prefix := range []string{"", arn} {
		own := settings()
		own.ItemsTable = prefix + own.ItemsTable
		got, err := hotkeys.FindSource(t.Context(), nil, own)
		if err != nil || got.Own != schema.ItemsTable || got.Table != "hotshard-items" || got.PartitionKey != "pk" || len(got.Indexes) != 2 || got.Indexes[0].Name != "by_rank" ||
			!slices.Equal(got.Indexes[0].Projected, []string{"board_shard", "expires_at", "pk", "rank_key", "row_rev", "sk"}) || got.Indexes[1].Name != "by_group" {
			t.Errorf("FindSource of %s: %v, %+v", own.ItemsTable, err, got)
		}
	}
	if err := existing("r", arn+"orders/stream/2026-01-05T00:00:00.000").Validate(); err == nil || !strings.Contains(err.Error(), "leave out /stream/") {
		t.Errorf("the ARN of a stream: %v", err)
	}
	deps := newFixture(settings()).deps()
	if _, err := hotkeys.New(existing("r", "orders"), deps); err == nil || !strings.Contains(err.Error(), "PartitionKey") {
		t.Errorf("New for an existing table without a source: error %v", err)
	}
}
