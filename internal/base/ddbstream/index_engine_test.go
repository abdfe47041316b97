package ddbstream_test

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// indexes of the test's table, with all projections.
var indexes = []ddbstream.Index{
	{Name: "all", PartitionKey: "g", SortKey: "r", All: true},
	{Name: "some", PartitionKey: "g", SortKey: "r", Include: []string{"a"}},
	{Name: "keys", PartitionKey: "r", SortKey: "g"},
}

// partition is a partition key of an index.
type partition struct{ index, key string }

// TestIndexWritesOnTheEngine makes random writes to an indexed table. It compares the decoded
// cost for each partition key with the capacity that the engine reported.
func TestIndexWritesOnTheEngine(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := mathrand.New(mathrand.NewPCG(seed, 0))
	limits, err := throttle.New(throttle.Options{Partitions: 8, PartitionWCU: 100_000, TopKeys: 10_000, Base: dynamolocal.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	access := "t" + rand.Text()
	db := dynamolocal.DynamoDB(enginetest.Endpoint(t), access, func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limits} })
	table, names := "indexed", schema.NamesFor("x-")
	if _, err := db.CreateTable(t.Context(), indexedTable(table)); err != nil {
		t.Fatal(err)
	}
	if err := dynamolocal.CreateTables(t.Context(), db, names); err != nil { // for checkpoints
		t.Fatal(err)
	}
	limits.Reset()
	for range 400 {
		randomWrite(t, rng, db, table)
	}
	want := map[partition]float64{}
	for _, k := range limits.Stats().Keys.Writes {
		if k.Index != "" {
			want[partition{k.Index, k.Key}] = k.Units
		}
	}
	if diff := cmp.Diff(want, recorded(t, db, table, names)); diff != "" || len(want) != 14 {
		t.Errorf("write units of %d index partitions (-charged +recorded):\n%s", len(want), diff)
	}
}

func indexedTable(name string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}
	key := func(hash, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange}}
	}
	for _, attr := range []string{"pk", "sk", "g", "r"} {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &attr, AttributeType: types.ScalarAttributeTypeS})
	}
	in.KeySchema = key("pk", "sk")
	for _, x := range indexes {
		projection := &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
		if x.All {
			projection.ProjectionType = types.ProjectionTypeAll
		} else if x.Include != nil {
			projection = &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: x.Include}
		}
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: &x.Name, KeySchema: key(x.PartitionKey, x.SortKey), Projection: projection,
		})
	}
	return in
}

// randomWrite puts or deletes one of a maxPairwise items. Most are in the indexes, and some attributes
// take more than a unit.
func randomWrite(t *testing.T, rng *mathrand.Rand, db *dynamodb.Client, table string) {
	t.Helper()
	item := map[string]types.AttributeValue{"pk": text(fmt.Sprint("p", rng.IntN(10))), "sk": text("s")}
	var err error
	if rng.IntN(6) == 0 {
		_, err = db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: item})
	} else {
		for attr, values := range map[string]int{"g": 5, "r": 4, "a": 3, "b": 2} {
			if n := rng.IntN(values + 1); n > 0 {
				item[attr] = text(fmt.Sprint(attr, n))
			}
		}
		for _, attr := range []string{"a", "b"} {
			if rng.IntN(4) == 0 {
				item[attr] = text(strings.Repeat("ü", rng.IntN(1500)))
			}
		}
		_, err = db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// adder is a function that adds up the index writes of its payloads.
type adder struct{ units map[partition]float64 }

func (a adder) Invoke(_ context.Context, payload []byte) ([]byte, error) {
	batch, err := ddbstream.Decode(payload)
	if err != nil {
		return nil, err
	}
	for i := range batch.Records {
		writes, err := batch.Records[i].AppendIndexWrites(nil, indexes)
		if err != nil {
			return nil, err
		}
		for _, w := range writes {
			a.units[partition{w.Index, string(w.Key)}] += float64(w.Units)
		}
	}
	return ddbstream.Answer(batch.State)
}

// recorded adds up the index writes of the table's stream.
func recorded(t *testing.T, db *dynamodb.Client, table string, names schema.Names) map[partition]float64 {
	t.Helper()
	source, err := eventsource.OpenStream(t.Context(), db, enginetest.Streams(t, db), table)
	if err != nil {
		t.Fatal(err)
	}
	sum := adder{map[partition]float64{}}
	mapping, err := eventsource.NewMapping(eventsource.MappingOptions{
		Name: "test", Source: source, Handler: sum, Checkpoints: db, CheckpointTable: dynamolocal.CheckpointTable(names),
		FailureFile: filepath.Join(t.TempDir(), "failures.jsonl"), Attempts: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := mapping.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := mapping.Stats().GivenUp; n > 0 {
		t.Fatalf("%d records were given up", n)
	}
	return sum.units
}
