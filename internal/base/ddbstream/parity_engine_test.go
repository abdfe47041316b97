package ddbstream_test

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/base/secondary"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

type (
	attributes = map[string]types.AttributeValue
	unitsOf    = map[string]float64 // write units by index; the table's are under ""
)

// parityIndexes has indexes of all projections and key schemas. The last one is local.
var parityIndexes = []secondary.Index{
	secondary.New("one", []string{"g"}, []string{"r"}, tableKeys, []string{"tag"}),
	secondary.New("three", []string{"k", "g", "m"}, []string{"r", "n"}, tableKeys, []string{}),
	secondary.New("whole", []string{"m"}, nil, tableKeys, nil),
	secondary.New("local", tableKeys[:1], []string{"n"}, tableKeys, []string{"tag"}),
}

// parityCase is a write and its write units.
type parityCase struct {
	before attributes // the item before the write; nil for none
	put    attributes
	update string // an update expression, instead of a put; its value is :x
	remove bool
	want   unitsOf
}

// parityCases restate, on more shapes of indexes, what Parity Suite measured on AWS in
// tests/tier1/putItem/indexConsumedCapacity.test.ts of github.com/paritysuite/dynamodb-conformance: each index has its
// own units beside the table's, a sparse write misses an index, updates cost 2, 1 or 0, an identical put costs no index.
func parityCases() map[string]parityCase {
	item := func(more ...string) attributes {
		all := attributes{"g": text("g"), "r": text("r"), "k": text("k"), "m": text("m"), "n": text("n"), "tag": text("t"), "extra": text("o")}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = text(more[i+1])
		}
		return all
	}
	large, larger := strings.Repeat("x", 1500), strings.Repeat("x", 2500)
	return map[string]parityCase{
		"a put is in each index":                {put: item(), want: unitsOf{"": 1, "one": 1, "three": 1, "whole": 1, "local": 1}},
		"a sparse put misses all":               {put: attributes{"extra": text("o")}, want: unitsOf{"": 1}},
		"a put with two of three attributes":    {put: attributes{"k": text("k"), "g": text("g"), "r": text("r"), "n": text("n")}, want: unitsOf{"": 1, "one": 1, "local": 1}},
		"an identical put":                      {before: item(), put: item(), want: unitsOf{"": 1}},
		"an update of what one index projects":  {before: item(), update: "SET extra = :x", want: unitsOf{"": 1, "whole": 1}},
		"an update of a projected attribute":    {before: item(), update: "SET tag = :x", want: unitsOf{"": 1, "one": 1, "whole": 1, "local": 1}},
		"an update of a key of three":           {before: item(), update: "SET k = :x", want: unitsOf{"": 1, "three": 2, "whole": 1}},
		"an update of sort keys":                {before: item(), update: "SET n = :x", want: unitsOf{"": 1, "three": 2, "whole": 1, "local": 2}},
		"an update of two indexes' keys":        {before: item(), update: "SET m = :x", want: unitsOf{"": 1, "three": 2, "whole": 2}},
		"an update that removes a key":          {before: item(), update: "REMOVE g", want: unitsOf{"": 1, "one": 1, "three": 1, "whole": 1}},
		"an update that removes the local key":  {before: item(), update: "REMOVE n", want: unitsOf{"": 1, "three": 1, "whole": 1, "local": 1}},
		"an update that makes an entry":         {before: attributes{"g": text("g")}, update: "SET r = :x", want: unitsOf{"": 1, "one": 1}},
		"a delete":                              {before: item(), remove: true, want: unitsOf{"": 1, "one": 1, "three": 1, "whole": 1, "local": 1}},
		"a delete of a sparse item":             {before: attributes{"extra": text("o")}, remove: true, want: unitsOf{"": 1}},
		"a larger entry that stays":             {before: item("tag", large), put: item("tag", larger), want: unitsOf{"": 3, "one": 3, "whole": 3, "local": 3}},
		"a smaller entry that stays":            {before: item("tag", larger), put: item("tag", "t"), want: unitsOf{"": 3, "one": 3, "whole": 3, "local": 3}},
		"a larger entry that moves":             {before: item("tag", large), put: item("tag", larger, "g", "h"), want: unitsOf{"": 3, "one": 5, "three": 2, "whole": 3, "local": 3}},
		"an unprojected attribute has no size":  {put: item("extra", larger), want: unitsOf{"": 3, "one": 1, "three": 1, "whole": 3, "local": 1}},
		engineWrong:                             {before: attributes{"g": text("g")}, put: attributes{"r": text("r")}, want: unitsOf{"": 1}},
		"a large entry loses its key":           {before: item("tag", larger), update: "REMOVE r", want: unitsOf{"": 3, "one": 3, "three": 1, "whole": 3}},
		"a put that changes what none projects": {before: attributes{"g": text("g"), "r": text("r")}, put: attributes{"g": text("g"), "r": text("r"), "extra": text("o")}, want: unitsOf{"": 1}},
	}
}

// engineWrong is a case in which DynamoDB Local charges an index that has no entry of the item.
const engineWrong = "a put that swaps halves of a key"

// TestParityOnTheEngine checks that the engine reports the write units that AWS charges, except in one case. The
// decoder must calculate them from the stream's records.
func TestParityOnTheEngine(t *testing.T) {
	db, names, table := enginetest.Client(t), schema.NamesFor("x-"), "parity"
	in := tableOf(table, parityIndexes[:3])
	in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{{
		IndexName: aws.String("local"), KeySchema: keySchema(tableKeys[:1], []string{"n"}),
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"tag"}},
	}}
	_, err := db.CreateTable(t.Context(), in)
	require.NoError(t, err)
	require.NoError(t, dynamolocal.CreateTables(t.Context(), db, names))
	cases := parityCases()
	for name, c := range cases {
		got := c.write(t, db, table, name)
		if name == engineWrong {
			if cmp.Equal(c.want, got) {
				t.Errorf("%s: the engine now charges as AWS does: delete engineWrong", name)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-AWS +engine):\n%s", name, diff)
		}
	}
	last := lastRecords{}
	drain(t, db, table, names, last)
	for name, c := range cases {
		if name == "an identical put" { // it has no record: the last one is the first put's
			c.want = unitsOf{"": 1, "one": 1, "three": 1, "whole": 1, "local": 1}
		}
		if diff := cmp.Diff(c.want, last[name]); diff != "" {
			t.Errorf("%s (-AWS +decoder):\n%s", name, diff)
		}
	}
}

// write makes the case's writes to an item of its own, and returns the capacity of the last one.
func (c parityCase) write(t *testing.T, db *dynamodb.Client, table, name string) unitsOf {
	t.Helper()
	key := attributes{"pk": text(name), "sk": text("s")}
	put := func(item attributes) *types.ConsumedCapacity {
		item = maps.Clone(item)
		maps.Copy(item, key)
		out, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item, ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes})
		require.NoError(t, err)
		return out.ConsumedCapacity
	}
	if c.before != nil {
		put(c.before)
	}
	if c.put != nil {
		return reported(put(c.put))
	}
	if c.remove {
		out, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key, ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes})
		require.NoError(t, err)
		return reported(out.ConsumedCapacity)
	}
	update := &dynamodb.UpdateItemInput{TableName: &table, Key: key, UpdateExpression: &c.update, ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes}
	if strings.Contains(c.update, ":x") {
		update.ExpressionAttributeValues = attributes{":x": text("x")}
	}
	out, err := db.UpdateItem(t.Context(), update)
	require.NoError(t, err)
	return reported(out.ConsumedCapacity)
}

// reported returns the write units of a ConsumedCapacity.
func reported(c *types.ConsumedCapacity) unitsOf {
	units := unitsOf{"": aws.ToFloat64(c.Table.CapacityUnits)}
	for _, indexes := range []map[string]types.Capacity{c.GlobalSecondaryIndexes, c.LocalSecondaryIndexes} {
		for name, used := range indexes {
			if n := aws.ToFloat64(used.CapacityUnits); n > 0 {
				units[name] = n
			}
		}
	}
	return units
}

// lastRecords is a function that decodes the write units of each partition key's last record.
type lastRecords map[string]unitsOf

func (l lastRecords) Invoke(_ context.Context, payload []byte) ([]byte, error) {
	batch, err := ddbstream.Decode(payload)
	if err != nil {
		return nil, err
	}
	for i := range batch.Records {
		rec := &batch.Records[i]
		writes, err := indexWritesOf(rec, parityIndexes)
		if err != nil {
			return nil, err
		}
		own, err := rec.WriteUnits()
		if err != nil {
			return nil, err
		}
		units := unitsOf{"": float64(own)}
		for _, w := range writes {
			units[w.Index] += float64(w.Units)
		}
		pk, _ := rec.Keys.String("pk")
		l[pk] = units
	}
	return ddbstream.Answer(batch.State)
}

// drain delivers all records of the table's stream.
func drain(t *testing.T, db *dynamodb.Client, table string, names schema.Names, to eventsource.Handler) {
	t.Helper()
	source, err := eventsource.OpenStream(t.Context(), db, enginetest.Streams(t, db), table)
	require.NoError(t, err)
	mapping, err := eventsource.NewMapping(eventsource.MappingOptions{
		Name: "test", Source: source, Handler: to, Checkpoints: db, CheckpointTable: dynamolocal.CheckpointTable(names),
		FailureFile: filepath.Join(t.TempDir(), "failures.jsonl"), Attempts: 1,
	})
	require.NoError(t, err)
	require.NoError(t, mapping.Drain(t.Context()))
	if n := mapping.Stats().GivenUp; n > 0 {
		t.Fatalf("%d records were given up", n)
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

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
