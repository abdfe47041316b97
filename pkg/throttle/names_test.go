package throttle_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/pkg/throttle"
)

// namings are names of the same table: DynamoDB Local takes ARNs of any account and Region.
var namings = []string{tableName, tableARN, "arn:aws:dynamodb:eu-west-1:123456789012:table/" + tableName}

// namedCalls are calls that name the table %s and the item a/1.
var namedCalls = []struct{ operation, body string }{
	{"PutItem", `{"TableName":"%s","Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}`},
	{"UpdateItem", `{"TableName":"%s","Key":{"pk":{"S":"a"},"sk":{"S":"1"}},"UpdateExpression":"SET c = :c","ExpressionAttributeValues":{":c":{"N":"1"}}}`},
	{"DeleteItem", `{"TableName":"%s","Key":{"pk":{"S":"a"},"sk":{"S":"1"}}}`},
	{"BatchWriteItem", `{"RequestItems":{"%s":[{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}}]}}`},
	{"TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"%s","Key":{"pk":{"S":"a"},"sk":{"S":"1"}}}}]}`},
	{"GetItem", `{"TableName":"%s","ConsistentRead":true,"Key":{"pk":{"S":"a"},"sk":{"S":"1"}}}`},
	{"Query", `{"TableName":"%s","ConsistentRead":true,"KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`},
	{"Scan", `{"TableName":"%s","ConsistentRead":true}`},
	{"BatchGetItem", `{"RequestItems":{"%s":{"ConsistentRead":true,"Keys":[{"pk":{"S":"a"},"sk":{"S":"1"}}]}}}`},
	{"TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"%s","Key":{"pk":{"S":"a"},"sk":{"S":"1"}}}}]}`},
}

// TestNameAndARNShareLimits checks that a table has one state, by whichever name a call gives it.
func TestNameAndARNShareLimits(t *testing.T) {
	for _, call := range namedCalls {
		b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 1, PartitionRCU: 1})
		for _, use := range []int{0, 5} { // PutItem and GetItem
			if got := b.post(t, b.Limiter, namedCalls[use].operation, fmt.Sprintf(namedCalls[use].body, tableName)); !strings.HasPrefix(got, "200") {
				t.Fatal(got)
			}
		}
		for _, name := range namings {
			got := b.post(t, b.Limiter, call.operation, fmt.Sprintf(call.body, name))
			if !strings.Contains(got, "#ThrottlingException") && !strings.Contains(got, "ThrottlingError") {
				t.Errorf("%s of %s with another name's capacity: %.300s", call.operation, name, got)
			}
		}
		if tables := b.Report().Tables; len(tables) != 2 || tables[0].Table != tableName || tables[1].Index != byGroup {
			t.Errorf("%s: got %d tables and indexes, want one of each", call.operation, len(tables))
		}
	}
}

// TestChangesByARN checks that a change, a split and the counts of a table are found by any of its names.
func TestChangesByARN(t *testing.T) {
	for _, name := range namings {
		b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 1})
		put := func() string { return b.post(t, b.Limiter, "PutItem", fmt.Sprintf(namedCalls[0].body, tableName)) }
		put()
		if got := put(); !strings.Contains(got, "#ThrottlingException") {
			t.Fatal(got)
		}
		if got := b.post(t, b.Limiter, "UpdateTable", `{"TableName":"`+name+`"}`); !strings.HasPrefix(got, "400") || !strings.Contains(put(), "#ThrottlingException") {
			t.Errorf("a rejected change of %s reset the table, or was not rejected: %s", name, got)
		}
		if status, text, _ := b.control(t).call(t, "POST", "/_throttle/split", `{"table":"`+name+`"}`); status != http.StatusOK || b.Partitions(name) != 2 {
			t.Errorf("a split of %s: %d %s", name, status, text)
		}
		if got := b.ThrottledWrites(name, b.Now().Add(-time.Minute), b.Now().Add(time.Minute)); len(got) != 1 || got[0].Writes != 2 {
			t.Errorf("throttled writes of %s: %v", name, got)
		}
		if got := b.post(t, b.Limiter, "UpdateTable", `{"TableName":"`+name+`","BillingMode":"PAY_PER_REQUEST"}`); !strings.HasPrefix(got, "200") {
			t.Fatal(got)
		}
		if got := put(); !strings.HasPrefix(got, "200") {
			t.Errorf("after a change of %s: %s", name, got)
		}
	}
}
