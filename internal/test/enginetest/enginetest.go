// Package enginetest gives each test its own database on a DynamoDB Local. The engine starts
// when it is first needed and ends with the test process. In `make test` all processes share
// one; if HOTSHARD_ENDPOINT is set, tests use that engine. With -short, tests that need
// an engine are skipped.
//
//	func TestX(t *testing.T) {
//		db := enginetest.Client(t)
//		names := enginetest.Tables(t, db)
//		...
//	}
//
// The engine polls each database that it ever had, three times a second: 220 of them take a
// quarter of a processor. So a test gives its database, emptied, to a later test. [Deliver]
// spreads the records of the engine's only stream shard over several.
package enginetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/require"
)

// Later is the time of tests that set the clock: a noon far from other days, months and years.
// It is ahead of the engine's clock, by which the engine deletes expired items.
var Later = time.Date(2126, 1, 15, 12, 0, 0, 0, time.UTC)

// Yesterday is the time of tests that depend on the machine's clock: noon of the day before, 12
// to 36 hours ago. It is read once, so that no test sees the day change.
var Yesterday = sync.OnceValue(func() time.Time {
	return time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
})

// Prefix returns a new prefix for the tables of a system.
func Prefix(name string) string { return name + rand.Text() + "-" }

// Variable names the environment variable with the URL of the engine that test processes share.
const Variable = "HOTSHARD_SHARED_ENGINE"

const hint = "tests need Amazon's DynamoDB Local: install Java 17 and npm, or set HOTSHARD_ENDPOINT to the URL of a running one"

// start returns the endpoint. The engine is not stopped here: on Linux it dies with the
// process.
var start = sync.OnceValues(func() (string, error) {
	if endpoint := os.Getenv("HOTSHARD_ENDPOINT"); endpoint != "" {
		return endpoint, nil
	}
	// os.Getenv would tell go test, which takes a result for another URL as outdated.
	if endpoint, _ := syscall.Getenv(Variable); endpoint != "" {
		return endpoint, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	engine, err := dynamolocal.StartEngine(ctx, dynamolocal.Options{Notice: os.Stderr})
	if err != nil {
		return "", err
	}
	return engine.Endpoint(), nil
})

// Endpoint returns the engine's URL. It fails the test if there is none.
func Endpoint(t testing.TB) string {
	t.Helper()
	require.Engine(t)
	endpoint, err := start()
	if err != nil {
		t.Fatalf("%v\n%s", err, hint)
	}
	return endpoint
}

// Client returns a client with a new database.
func Client(t testing.TB, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	t.Helper()
	return dynamolocal.DynamoDB(Endpoint(t), Database(t), optFns...)
}

// unused are access keys of empty databases.
var unused struct {
	mu   sync.Mutex
	keys []string
}

// Database returns the access key of an empty database, which no other test uses until this one
// ends.
func Database(t testing.TB) string {
	t.Helper()
	endpoint := Endpoint(t)
	if os.Getenv("HOTSHARD_ENDPOINT") != "" { // its databases may be one, with the tables of others
		return "t" + rand.Text()
	}
	unused.mu.Lock()
	defer unused.mu.Unlock()
	key := "t" + rand.Text()
	if last := len(unused.keys) - 1; last >= 0 {
		key, unused.keys = unused.keys[last], unused.keys[:last]
	}
	t.Cleanup(func() {
		if err := empty(dynamolocal.DynamoDB(endpoint, key)); err != nil {
			return // nobody gets it again
		}
		unused.mu.Lock()
		defer unused.mu.Unlock()
		unused.keys = append(unused.keys, key)
	})
	return key
}

// empty deletes all tables.
func empty(db *dynamodb.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for pages := dynamodb.NewListTablesPaginator(db, &dynamodb.ListTablesInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, table := range page.TableNames {
			if _, err := db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
				return err
			}
		}
	}
	return nil
}

// ForExamples is Client for Example functions, which have no testing.TB. It panics if there is
// no engine.
func ForExamples() *dynamodb.Client {
	endpoint, err := start()
	if err != nil {
		panic(fmt.Sprintf("%v\n%s", err, hint))
	}
	return dynamolocal.DynamoDB(endpoint, "t"+rand.Text())
}

// Streams returns a client for the streams of db's tables.
func Streams(t testing.TB, db *dynamodb.Client) *dynamodbstreams.Client {
	t.Helper()
	o := db.Options()
	keys, err := o.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatalf("read the client's access key: %v", err)
	}
	return dynamolocal.Streams(aws.ToString(o.BaseEndpoint), keys.AccessKeyID)
}

// Tables creates the tables of a deployment with a new prefix, and deletes them when the test
// ends.
func Tables(t testing.TB, db *dynamodb.Client) schema.Names {
	t.Helper()
	names := schema.NamesFor("t" + rand.Text() + "-")
	require.NoError(t, dynamolocal.CreateTables(t.Context(), db, names))
	t.Cleanup(func() { deleteTables(t, db, names) })
	keep(t, db, names.ShardMap)
	return names
}

// keep disables a table's TTL. Many tests run in the past, and the engine would delete their
// shard map's changes as expired.
func keep(t testing.TB, db *dynamodb.Client, table string) {
	t.Helper()
	_, err := db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               &table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(schema.ExpiresAt), Enabled: aws.Bool(false)},
	})
	require.NoError(t, err)
}

func deleteTables(t testing.TB, db *dynamodb.Client, names schema.Names) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, table := range dynamolocal.Tables(names) {
		if _, err := db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table.Name}); err != nil {
			t.Errorf("delete table %s: %v", table.Name, err)
		}
	}
}
