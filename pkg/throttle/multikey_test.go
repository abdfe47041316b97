package throttle_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestIndexKeyOfSeveralAttributes checks that all attributes of an index's partition key choose its partition, for puts,
// updates and queries.
func TestIndexKeyOfSeveralAttributes(t *testing.T) {
	table := onDemandTable()
	x := &table.GlobalSecondaryIndexes[0]
	x.KeySchema = []types.KeySchemaElement{
		{AttributeName: aws.String("group"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("town"), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String("rank"), KeyType: types.KeyTypeRange}, {AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
	}
	table.AttributeDefinitions = append(table.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String("town"), AttributeType: types.ScalarAttributeTypeS})
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 20}, table)
	if b.Partition("g|hot") == b.Partition("g|cold") {
		t.Fatal("both keys are on one partition")
	}
	keys := b.apart(t, 22)
	in := func(town, rank string) values { return values{"group": s("g"), "town": s(town), "rank": n(rank)} }
	for i := range 20 {
		if err := b.put(t, itemOf(keys[i], "1", in("hot", fmt.Sprint(i)))); err != nil {
			t.Fatal(i, err)
		}
	}
	wantThrottled(t, "a put into the dry partition", b.put(t, itemOf(keys[20], "1", in("hot", "20"))), indexWriteThrottled)
	wantThrottled(t, "an update of the dry partition", b.update(t, updateOf(keys[0], "ADD #r :x", values{":x": n("5")})), indexWriteThrottled)
	if err := b.put(t, itemOf(keys[21], "1", in("cold", "1"))); err != nil {
		t.Errorf("a put into another partition: %v", err)
	}
	if err := b.update(t, updateOf(keys[21], "ADD #r :x", values{":x": n("5")})); err != nil {
		t.Errorf("an update of another partition: %v", err)
	}
	if _, err := b.db.Query(t.Context(), &dynamodb.QueryInput{
		TableName: aws.String(tableName), IndexName: aws.String(byGroup), KeyConditionExpression: aws.String("town = :t AND #g = :g"),
		ExpressionAttributeNames: map[string]string{"#g": "group"}, ExpressionAttributeValues: values{":t": s("cold"), ":g": s("g")},
	}); err != nil {
		t.Fatal(err)
	}
	stats := b.Stats().Keys
	writes, reads := charged(stats.Writes), charged(stats.Reads)
	for key, want := range map[place]float64{{byGroup, "g|hot"}: 20, {byGroup, "g|cold"}: 3} {
		if writes[key] != want {
			t.Errorf("%s took %v write units, want %v", key, writes[key], want)
		}
	}
	if reads[place{byGroup, "g|cold"}] != 0.5 {
		t.Errorf("reads cost %v, want 0.5 in %s", reads, "g|cold")
	}
}
