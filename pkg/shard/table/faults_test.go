package table_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// shaky is a client whose puts return the errors of fail one after another, and then succeed.
type shaky struct {
	table.Client
	mu    sync.Mutex
	fail  []error
	keys  []string // the puts' partition keys
	query error    // of all queries; may be nil
}

func (f *shaky) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = append(f.keys, libtest.Text(in.Item["customer"]))
	if len(f.fail) == 0 {
		return &dynamodb.PutItemOutput{}, nil
	}
	err := f.fail[0]
	f.fail = f.fail[1:]
	return nil, err
}

func (f *shaky) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if f.query != nil {
		return nil, f.query
	}
	return f.Client.Query(ctx, in, o...)
}

// TestRetriesOfRandomPuts checks that a throttled put is retried on another write shard, unless an earlier attempt has an
// ambiguous result. Another write shard could then create a second item.
func TestRetriesOfRandomPuts(t *testing.T) {
	t.Parallel()
	throttle := &types.ProvisionedThroughputExceededException{}
	ambiguous := &types.InternalServerError{}
	for name, c := range map[string]struct {
		fail  []error
		fixed bool // all attempts are on one write shard
	}{
		"throttled":            {[]error{throttle, throttle, throttle}, false},
		"ambiguous":            {[]error{ambiguous, ambiguous, ambiguous}, true},
		"ambiguous, throttled": {[]error{ambiguous, throttle, throttle}, true},
		"calculated":           {[]error{throttle, throttle, throttle}, true},
	} {
		f := &shaky{fail: c.fail}
		sharded := table.Table{Client: f, Name: "t", PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(1000), Layout: table.RandomSuffix{}}
		if strings.HasPrefix(name, "calculated") {
			sharded.Layout = table.CalculatedSuffix{}
		}
		if err := sharded.Put(t.Context(), table.Item{"customer": libtest.Str("a"), "placed": libtest.Str("b")}, libtest.Epoch); err != nil {
			t.Fatal(name, err)
		}
		slices.Sort(f.keys)
		if one := len(slices.Compact(f.keys)) == 1; one != c.fixed {
			t.Errorf("%s: written to %v, want one write shard: %t", name, f.keys, c.fixed)
		}
	}
}
