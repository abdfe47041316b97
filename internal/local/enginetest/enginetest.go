// Package enginetest gives tests databases of their own on one DynamoDB Local,
// which is started when first needed and ends with the test process. With
// HOTSHARD_ENDPOINT set, as `make test` has it, it uses that engine instead. With
// -short a test that wants an engine is left out, and says so.
//
//	func TestX(t *testing.T) {
//		db := enginetest.Client(t)
//		names := enginetest.Tables(t, db)
//		...
//	}
package enginetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/schema"
)

// Later is the time of tests that give what they test a clock: a noon that is far from
// other days, months and years, and ahead of the engine's own clock, by which it removes
// what has expired.
var Later = time.Date(2126, 1, 15, 12, 0, 0, 0, time.UTC)

// Yesterday is the time of tests whose parts go by the machine's clock: noon of the day
// before. It is taken once, so that no test sees the day change, and is 12 to 36 hours ago.
var Yesterday = sync.OnceValue(func() time.Time {
	return time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
})

// LastingWindow is the length of a limit's window that goes on for another hour by the
// machine's clock. Windows begin at multiples of their length.
func LastingWindow() time.Duration {
	for d := 24 * time.Hour; ; d += time.Hour {
		if now := time.Now(); now.Truncate(d).Add(d).Sub(now) > time.Hour {
			return d
		}
	}
}

// Prefix makes up a prefix for the tables of a system of its own.
func Prefix(name string) string { return name + rand.Text() + "-" }

const hint = "tests need Amazon's DynamoDB Local: install Java 17 and npm, or set HOTSHARD_ENDPOINT to the URL of a running one"

// start gives the endpoint. The engine is not stopped here: it dies with the
// process (on Linux), however that ends.
var start = sync.OnceValues(func() (string, error) {
	if endpoint := os.Getenv("HOTSHARD_ENDPOINT"); endpoint != "" {
		return endpoint, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	engine, err := local.StartEngine(ctx, local.Options{Notice: os.Stderr})
	if err != nil {
		return "", err
	}
	return engine.Endpoint(), nil
})

// Endpoint returns the engine's URL, and fails the test when there is none.
func Endpoint(t testing.TB) string {
	t.Helper()
	lane.NeedsEngine(t)
	endpoint, err := start()
	if err != nil {
		t.Fatalf("%v\n%s", err, hint)
	}
	return endpoint
}

// Client returns a client with a database of its own.
func Client(t testing.TB, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	t.Helper()
	return local.DynamoDB(Endpoint(t), "t"+rand.Text(), optFns...)
}

// ForExamples is Client for Example functions, which have no testing.TB; without an
// engine it panics.
func ForExamples() *dynamodb.Client {
	endpoint, err := start()
	if err != nil {
		panic(fmt.Sprintf("%v\n%s", err, hint))
	}
	return local.DynamoDB(endpoint, "t"+rand.Text())
}

// Streams returns a client for the streams of the tables that db sees.
func Streams(t testing.TB, db *dynamodb.Client) *dynamodbstreams.Client {
	t.Helper()
	o := db.Options()
	keys, err := o.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatalf("read the client's access key: %v", err)
	}
	return local.Streams(aws.ToString(o.BaseEndpoint), keys.AccessKeyID)
}

// Tables makes the tables of a deployment under a prefix of its own, and deletes
// them when the test ends.
func Tables(t testing.TB, db *dynamodb.Client) schema.Names {
	t.Helper()
	names := schema.NamesFor("t" + rand.Text() + "-")
	if err := local.CreateTables(t.Context(), db, names); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteTables(t, db, names) })
	keep(t, db, names.ShardMap)
	return names
}

// keep turns a table's TTL off: many tests play in a past whose changes of shard counts
// the engine would take for expired, and remove while they run.
func keep(t testing.TB, db *dynamodb.Client, table string) {
	t.Helper()
	_, err := db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               &table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(schema.ExpiresAt), Enabled: aws.Bool(false)},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func deleteTables(t testing.TB, db *dynamodb.Client, names schema.Names) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, table := range local.Tables(names) {
		if _, err := db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table.Name}); err != nil {
			t.Errorf("delete table %s: %v", table.Name, err)
		}
	}
}
