package hotkeys_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// foreign is a table that hotshard did not shard, and a detector on its stream.
type foreign struct {
	*fixture
	db    *dynamodb.Client
	names schema.Names
	table string
}

// attribute is a key attribute. Without a name it is no attribute.
type attribute struct {
	name string
	kind types.ScalarAttributeType
}

func keys(partition, sort attribute) (list []types.KeySchemaElement) {
	list = append(list, types.KeySchemaElement{AttributeName: &partition.name, KeyType: types.KeyTypeHash})
	if sort.name != "" {
		list = append(list, types.KeySchemaElement{AttributeName: &sort.name, KeyType: types.KeyTypeRange})
	}
	return list
}

// newForeign creates a table in DynamoDB Local and its detector.
func newForeign(t *testing.T, view types.StreamViewType, partition, sort attribute) *foreign {
	t.Helper()
	f := &foreign{db: enginetest.Client(t), table: "orders"}
	f.names = enginetest.Tables(t, f.db)
	in := &dynamodb.CreateTableInput{
		TableName: &f.table, BillingMode: types.BillingModePayPerRequest, KeySchema: keys(partition, sort),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view},
	}
	for _, a := range []attribute{partition, sort} {
		if a.name != "" {
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &a.name, AttributeType: a.kind})
		}
	}
	if _, err := f.db.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	f.attach(t)
	return f
}

// attach creates the detector, without access to items or the shard map.
func (f *foreign) attach(t *testing.T) {
	t.Helper()
	s := existing(f.names.Heat, f.table)
	source, err := hotkeys.FindSource(t.Context(), f.db, s)
	require.NoError(t, err)
	f.fixture = newFixture(settings())
	f.rebuild(t, s, func(deps *hotkeys.Deps) {
		deps.Source, deps.Shards, deps.Heat = source, nil, f.db
		deps.Now = func() time.Time { return time.Now().Add(f.now.Sub(start)) } // records have the engine's time
	})
}

// existing returns settings for a table that hotshard did not shard.
func existing(heat, table string) hotkeys.Settings {
	s := settings()
	s.SourceTable, s.ItemsTable, s.EventsTable, s.ShardMapTable, s.HeatTable = table, "", "", "", heat
	s.PartitionWCU = 10
	return s
}

func (f *foreign) put(t *testing.T, items ...map[string]types.AttributeValue) {
	t.Helper()
	for _, item := range items {
		if _, err := f.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
}

// counted delivers the stream. It returns the counted write units by index and partition key, and the rows.
func (f *foreign) counted(t *testing.T) (units map[string]float64, rows []heat.KeyHeat) {
	t.Helper()
	drain(t, f.fixture, f.db, f.names, f.table)
	items := f.heatItems(t)
	units = make(map[string]float64)
	for _, item := range items {
		for _, k := range item.Keys {
			units[strings.TrimPrefix(k.Index+" "+k.Key, " ")] += float64(k.Units)
		}
	}
	return units, heat.Merge(items)
}

func (f *foreign) heatItems(t *testing.T) (items []heat.Item) {
	t.Helper()
	out, err := f.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.names.Heat, FilterExpression: aws.String("begins_with(pk, :k)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":k": str("K#")}})
	require.NoError(t, err)
	for _, attributes := range out.Items {
		item, err := heat.Parse(attributes)
		require.NoError(t, err)
		items = append(items, item)
	}
	return items
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func raw(s string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(s)} }

// TestExistingKeys checks that binary keys, and keys with hotshard's form, are reported unchanged and get advice.
func TestExistingKeys(t *testing.T) {
	id := attribute{"id", types.ScalarAttributeTypeB}
	f := newForeign(t, types.StreamViewTypeNewImage, id, attribute{})
	f.put(t, map[string]types.AttributeValue{"id": raw("\x00\xff")})
	if units, _ := f.counted(t); !maps.Equal(units, map[string]float64{"AP8=": 1}) {
		t.Errorf("write units %v, want 1 of AP8=", units)
	}

	g := newForeign(t, types.StreamViewTypeKeysOnly, attribute{"pk", types.ScalarAttributeTypeS}, attribute{"sk", types.ScalarAttributeTypeS})
	for i := range 150 {
		g.put(t, map[string]types.AttributeValue{"pk": str("C#a#0"), "sk": str(fmt.Sprint(i)), "large": str(strings.Repeat("x", 4000))})
	}
	units, rows := g.counted(t)
	if !maps.Equal(units, map[string]float64{"C#a#0": 150}) {
		t.Errorf("write units %v, want 150 of C#a#0", units)
	}
	row := rows[0]
	if _, own := row.Base(); own || row.Status != heat.Saturated || !strings.Contains(row.Advice(&row, heat.Sharding{}), "Split it across") {
		t.Errorf("%+v: %s", row, row.Advice(&row, heat.Sharding{}))
	}
	if len(g.values("KeyWriteUnitsPerSecond")["orders C#a#0"]) == 0 || !strings.Contains(g.logs.String(), `"hot key" table=orders`) || strings.Contains(g.logs.String(), "shard count") {
		t.Errorf("metrics %v\n%s", g.sink.Data(), g.logs)
	}
	if got, err := g.handler.Invoke(t.Context(), []byte(hotkeys.ShrinkTask)); err != nil || string(got) != `{"keys":0,"shrunk":0}` {
		t.Errorf("shrink task: %s, %v; want no keys", got, err)
	}
}

func TestFindSource(t *testing.T) {
	db := enginetest.Client(t)
	if _, err := hotkeys.FindSource(t.Context(), db, existing("r", "nowhere")); err == nil || !strings.Contains(err.Error(), "describing table nowhere") {
		t.Errorf("FindSource of a missing table: error %v", err)
	}
	names := enginetest.Tables(t, db)
	if _, err := hotkeys.FindSource(t.Context(), db, existing("r", names.Heat)); err == nil || !strings.Contains(err.Error(), names.Heat+": it has no stream") {
		t.Errorf("FindSource of a table without a stream: error %v", err)
	}
	got, err := hotkeys.FindSource(t.Context(), nil, settings())
	if err != nil || got.Own != schema.ItemsTable || got.Table != "hotshard-items" || got.PartitionKey != "pk" || len(got.Indexes) != 2 || got.Indexes[0].Name != "by_rank" || !slices.Equal(got.Indexes[0].Projected, []string{"board_shard", "expires_at", "pk", "rank_key", "row_rev", "sk"}) ||
		got.Indexes[1].Name != "by_group" || !slices.Equal(got.Indexes[1].Projected, []string{"ends_at", "pk", "session_shard", "sk", "started_at"}) {
		t.Errorf("FindSource of hotshard's own table: %v, %+v", err, got)
	}
	const arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/"
	if got, err = hotkeys.FindSource(t.Context(), db, existing("r", arn+names.Items)); err != nil || got.Table != names.Items || len(got.Indexes) != 2 { // as in the stream's ARN and in metrics
		t.Errorf("FindSource by ARN: %v, %+v", err, got)
	}
	own := settings()
	own.ItemsTable = arn + own.ItemsTable
	if got, err = hotkeys.FindSource(t.Context(), nil, own); err != nil || got.Table != "hotshard-items" || len(got.Indexes) != 2 {
		t.Errorf("FindSource of hotshard's own table by ARN: %v, %+v", err, got)
	}
	if err := existing("r", arn+"orders/stream/2026-01-05T00:00:00.000").Validate(); err == nil || !strings.Contains(err.Error(), "leave out /stream/") {
		t.Errorf("the ARN of a stream: %v", err)
	}
	deps := newFixture(settings()).deps()
	if _, err := hotkeys.New(existing("r", "orders"), deps); err == nil || !strings.Contains(err.Error(), "dependency") {
		t.Errorf("New for an existing table without a source: error %v", err)
	}
}
