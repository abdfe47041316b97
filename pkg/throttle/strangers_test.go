package throttle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/throttle"
)

// What AWS answers, as in documents and threads: the type, the beginning of the text, and the member with the reasons.
const (
	provisionedHot   = `400 "__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException" "message":"The level of configured provisioned throughput for the table was exceeded. Consider "ThrottlingReasons":[{"reason":"`
	provisionedIndex = `400 "__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException" "message":"The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded. "ThrottlingReasons":[{"reason":"Index`
	onDemandHot      = `400 "__type":"com.amazon.coral.availability#ThrottlingException" "message":"Throughput exceeds the current capacity of your table or index. DynamoDB is "throttlingReasons":[{"reason":"`
	onDemandIndex    = `400 "__type":"com.amazon.coral.availability#ThrottlingException" "message":"Throughput exceeds the current capacity for one or more global secondary indexes. DynamoDB "throttlingReasons":[{"reason":"Index`
	onDemandMaximum  = `400 "__type":"com.amazon.coral.availability#ThrottlingException" "message":"Throughput exceeds the maximum OnDemandThroughput configured on table or index" "throttlingReasons":[{"reason":"TableWriteMaxOnDemandThroughputExceeded"`
	accountQuota     = `400 "__type":"com.amazonaws.dynamodb.v20120810#RequestLimitExceeded" "message":"Throughput exceeds the current throughput limit for your account. "ThrottlingReasons":[{"reason":"TableWriteAccountLimitExceeded"`
	cancelled        = `400 "__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException" "Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [%s]" {"Code":"%[1]s","Message":"%s`
)

// has reports whether an answer has all parts of what AWS answers, which are at spaces before quotes or braces.
func has(answer, aws string) bool {
	for _, part := range strings.Split(strings.NewReplacer(` "`, "\x00\"", ` {`, "\x00{").Replace(aws), "\x00") {
		if !strings.Contains(answer, part) {
			return false
		}
	}
	return true
}

// TestHotKeyThrottlesByBilling sends each call to a hot key. Programs that handle only
// ProvisionedThroughputExceededException fail on AWS if the table is on-demand.
func TestHotKeyThrottlesByBilling(t *testing.T) {
	onePartition := provisionedTable()
	onePartition.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1)}
	for name, c := range map[string]struct {
		single, table       *dynamodb.CreateTableInput
		hot, code, text     string
		index, indexMessage string
	}{
		"provisioned": {onePartition, provisionedTable(), provisionedHot, "ProvisionedThroughputExceeded", "The level of configured provisioned throughput for the table", provisionedIndex, "The level of configured provisioned throughput for one or more global secondary indexes"},
		"on-demand":   {onDemandTable(), onDemandTable(), onDemandHot, "ThrottlingError", "Throughput exceeds the current capacity of your table", onDemandIndex, "Throughput exceeds the current capacity for one or more global secondary indexes"},
	} {
		b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 1, PartitionRCU: 1}, c.single)
		for _, use := range []int{0, 5} { // PutItem and GetItem
			if got := b.post(t, b.Limiter, namedCalls[use].operation, fmt.Sprintf(namedCalls[use].body, tableName)); !strings.HasPrefix(got, "200") {
				t.Fatal(got)
			}
		}
		for _, call := range namedCalls {
			want := c.hot
			if strings.HasPrefix(call.operation, "Transact") {
				want = fmt.Sprintf(cancelled, c.code, c.text)
			}
			if got := b.post(t, b.Limiter, call.operation, fmt.Sprintf(call.body, tableName)); !has(got, want) {
				t.Errorf("%s, %s: %s\nwant %s", name, call.operation, got, want)
			}
		}
		b = newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 1, PartitionRCU: 1}, c.table)
		item := func(key string) string {
			return `"TableName":"limited","Item":{"pk":{"S":"` + key + `"},"sk":{"S":"1"},"group":{"S":"hot"},"rank":{"N":"1"}}`
		}
		const query = `{"TableName":"limited","IndexName":"by_group","KeyConditionExpression":"#g = :g","ExpressionAttributeNames":{"#g":"group"},"ExpressionAttributeValues":{":g":{"S":"hot"}}}`
		keys := b.apart(t, 3)
		b.post(t, b.Limiter, "PutItem", "{"+item(keys[0])+"}")
		for range 2 {
			b.post(t, b.Limiter, "Query", query)
		}
		for _, call := range []struct{ operation, body, want string }{
			{"PutItem", "{" + item(keys[1]) + "}", c.index + "WriteKeyRange"}, // the index's back-pressure
			{"Query", query, c.index + "ReadKeyRange"},
			{"TransactWriteItems", `{"TransactItems":[{"Put":{` + item(keys[2]) + `}}]}`, fmt.Sprintf(cancelled, c.code, c.indexMessage)},
		} {
			if got := b.post(t, b.Limiter, call.operation, call.body); !has(got, call.want) {
				t.Errorf("%s, %s of an index: %s\nwant %s", name, call.operation, got, call.want)
			}
		}
	}
}

// TestWholeTableThrottlesByItsLimit checks the answers to writes beyond a limit of the whole table.
func TestWholeTableThrottlesByItsLimit(t *testing.T) {
	maximum := onDemandTable()
	maximum.OnDemandThroughput = &types.OnDemandThroughput{MaxReadRequestUnits: aws.Int64(9), MaxWriteRequestUnits: aws.Int64(1)}
	small := provisionedTable()
	small.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1)}
	for name, c := range map[string]struct {
		table *dynamodb.CreateTableInput
		quota int
		want  string
		code  string
		text  string
	}{
		"provisioned": {small, 0, provisionedHot + "TableWriteProvisionedThroughputExceeded", "ProvisionedThroughputExceeded", "The level of"},
		"maximum":     {maximum, 0, onDemandMaximum, "ThrottlingError", "Throughput exceeds the maximum"},
		"account":     {onDemandTable(), 1, accountQuota, "ThrottlingError", "Throughput exceeds the current throughput limit for your account"},
	} {
		b := newBench(t, throttle.Options{Partitions: 4, PartitionWCU: 100, TableQuota: c.quota}, c.table)
		b.post(t, b.Limiter, "PutItem", fmt.Sprintf(namedCalls[0].body, tableName))
		for _, call := range namedCalls[:5] {
			want := c.want
			if call.operation == "TransactWriteItems" {
				want = fmt.Sprintf(cancelled, c.code, c.text)
			}
			if got := b.post(t, b.Limiter, call.operation, fmt.Sprintf(call.body, tableName)); !has(got, want) {
				t.Errorf("%s, %s: %s\nwant %s", name, call.operation, got, want)
			}
		}
	}
}
