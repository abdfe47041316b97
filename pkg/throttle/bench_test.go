package throttle_test

import (
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// BenchmarkAgainstDirect alternates between clients with the limiter, with its proxy and with
// neither, on one engine.
//
//	go test -run '^$' -bench Direct -benchtime 2000x ./pkg/throttle
func BenchmarkAgainstDirect(b *testing.B) {
	l := newBench(b, throttle.Options{Partitions: 64, PartitionWCU: 100_000})
	target, err := url.Parse(enginetest.Endpoint(b))
	require.NoError(b, err)
	proxy := httptest.NewServer(l.Proxy(target))
	defer proxy.Close()
	clients := map[string]*dynamodb.Client{
		"direct":  client(b, l.key, dynamolocal.Transport()),
		"limited": client(b, l.key, l.Limiter),
		"proxied": dynamolocal.DynamoDB(proxy.URL, l.key, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }),
	}
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
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) { compare(b, call, clients) })
	}
}

// compare alternates between the clients and reports the median and the 99th percentile of each.
func compare(b *testing.B, call func(*dynamodb.Client) error, clients map[string]*dynamodb.Client) {
	times := map[string][]time.Duration{}
	for b.Loop() {
		for name, db := range clients { // in random order
			start := time.Now()
			require.NoError(b, call(db))
			times[name] = append(times[name], time.Since(start))
		}
	}
	for name, all := range times {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), name+"-p50-us")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), name+"-p99-us")
	}
}
