package ddbstream_test

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/base/secondary"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// indexes has indexes of all projections, with keys of one to four attributes.
var indexes = []secondary.Index{
	secondary.New("all", []string{"g"}, []string{"r"}, tableKeys, nil),
	secondary.New("some", []string{"g"}, []string{"r"}, tableKeys, []string{"a"}),
	secondary.New("keys", []string{"r"}, []string{"g"}, tableKeys, []string{}),
	secondary.New("three", []string{"k", "g", "m"}, []string{"r"}, tableKeys, []string{"a"}),
	secondary.New("four", []string{"m", "k", "r", "g"}, nil, tableKeys, nil),
	secondary.New("sorted", []string{"m"}, []string{"g", "r", "k", "n"}, tableKeys, []string{}),
}

var tableKeys = []string{"pk", "sk"}

// partition is a partition key of an index.
type partition struct{ index, key string }

// TestIndexWritesOnTheEngine makes random writes. It compares the decoded write units of each index partition with
// those that the limiter charged by the engine's ConsumedCapacity.
func TestIndexWritesOnTheEngine(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := mathrand.New(mathrand.NewPCG(seed, 0))
	limits, err := throttle.New(throttle.Options{Partitions: 8, PartitionWCU: 100_000, TopKeys: 10_000, Base: dynamolocal.Transport()})
	require.NoError(t, err)
	access := "t" + rand.Text()
	db := dynamolocal.DynamoDB(enginetest.Endpoint(t), access, func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limits} })
	table, names := "indexed", schema.NamesFor("x-")
	_, err = db.CreateTable(t.Context(), tableOf(table, indexes))
	require.NoError(t, err)
	require.NoError(t, dynamolocal.CreateTables(t.Context(), db, names)) // for checkpoints
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
	sum := adder{map[partition]float64{}}
	drain(t, db, table, names, sum)
	if diff := cmp.Diff(want, sum.units); diff != "" || len(want) < 60 {
		t.Errorf("write units of %d index partitions (-charged +recorded):\n%s", len(want), diff)
	}
}

// tableOf returns a table with a stream and these global indexes. An index may include the attribute a or tag.
func tableOf(name string, indexes []secondary.Index) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest, KeySchema: keySchema(tableKeys[:1], tableKeys[1:]),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}
	for _, attr := range []string{"pk", "sk", "g", "r", "k", "m", "n"} {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &attr, AttributeType: types.ScalarAttributeTypeS})
	}
	for _, x := range indexes {
		projection := &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
		if x.Projected == nil {
			projection.ProjectionType = types.ProjectionTypeAll
		}
		for _, attr := range []string{"a", "tag"} {
			if slices.Contains(x.Projected, attr) {
				projection = &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{attr}}
			}
		}
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: &x.Name, KeySchema: keySchema(x.Partition, x.Sort), Projection: projection,
		})
	}
	return in
}

func keySchema(partition, sort []string) (schema []types.KeySchemaElement) {
	for i, attribute := range slices.Concat(partition, sort) {
		kind := types.KeyTypeHash
		if i >= len(partition) {
			kind = types.KeyTypeRange
		}
		schema = append(schema, types.KeySchemaElement{AttributeName: &attribute, KeyType: kind})
	}
	return schema
}

// randomWrite puts or deletes one of ten items. Most are in the indexes, and some have attributes of more than a unit.
func randomWrite(t *testing.T, rng *mathrand.Rand, db *dynamodb.Client, table string) {
	t.Helper()
	item := map[string]types.AttributeValue{"pk": text(fmt.Sprint("p", rng.IntN(10))), "sk": text("s")}
	var err error
	if rng.IntN(6) == 0 {
		_, err = db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: item})
	} else {
		for attr, values := range map[string]int{"g": 5, "r": 4, "a": 3, "b": 2, "k": 2, "m": 2, "n": 2} {
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
	require.NoError(t, err)
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// adder is a function that adds up the decoded index writes.
type adder struct{ units map[partition]float64 }

func (a adder) Invoke(_ context.Context, payload []byte) ([]byte, error) {
	batch, err := ddbstream.Decode(payload)
	if err != nil {
		return nil, err
	}
	for i := range batch.Records {
		writes, err := indexWritesOf(&batch.Records[i], indexes)
		if err != nil {
			return nil, err
		}
		for _, w := range writes {
			a.units[partition{w.Index, string(w.Key)}] += float64(w.Units)
		}
	}
	return ddbstream.Answer(batch.State)
}
