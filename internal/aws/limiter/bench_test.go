package limiter_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/limiter"
)

// BenchmarkAgainstDirect alternates between a client with the limiter and one without, on one
// engine. It reports the limited client's speed as a share of the other's.
//
//	go test -run '^$' -bench Direct -benchtime 2000x ./internal/aws/limiter
func BenchmarkAgainstDirect(b *testing.B) {
	l := newBench(b, limiter.Options{Partitions: 64, PartitionWCU: 100_000})
	limited := client(b, l.key, l.Limiter)
	direct := client(b, l.key, dynamolocal.Transport())
	i := 0
	calls := map[string]func(db *dynamodb.Client) error{
		"UpdateItem": func(db *dynamodb.Client) error {
			_, err := db.UpdateItem(b.Context(), updateOf("counter", "ADD #x :n", values{":n": n("1")}))
			return err
		},
		"PutItem": func(db *dynamodb.Client) error {
			i++
			_, err := db.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: itemOf("event", strconv.Itoa(i%1000), sized(0.3))})
			return err
		},
		"BatchWriteItem of 25": func(db *dynamodb.Client) error {
			items := make([]values, 25)
			for j := range items {
				i++
				items[j] = itemOf("batch"+strconv.Itoa(i%8), strconv.Itoa(i%1000), sized(0.3))
			}
			_, err := db.BatchWriteItem(b.Context(), &dynamodb.BatchWriteItemInput{RequestItems: putRequests(items...)})
			return err
		},
		"GetItem": func(db *dynamodb.Client) error {
			_, err := db.GetItem(b.Context(), &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: keyOf("counter", "1")})
			return err
		},
	}
	for name, call := range calls {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) { compare(b, call, direct, limited) })
	}
}

func compare(b *testing.B, call func(*dynamodb.Client) error, direct, limited *dynamodb.Client) {
	var times [2]time.Duration
	for b.Loop() {
		for i, db := range []*dynamodb.Client{direct, limited} {
			start := time.Now()
			if err := call(db); err != nil {
				b.Fatal(err)
			}
			times[i] += time.Since(start)
		}
	}
	b.ReportMetric(times[0].Seconds()/times[1].Seconds(), "of-direct")
}
