package throttle_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestStats checks all statistics after a few calls, and that a reset clears them and fills no bucket.
func TestStats(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1000, PartitionWCU: 6})
	keys := b.apart(t, 3)
	for i, key := range keys {
		for range 3 - i {
			require.NoError(t, b.put(t, itemOf(key, "1", map[bool]values{true: grouped("g", "1"), false: nil}[i == 2])))
		}
	}
	require.NoError(t, b.get(t, keys[1], "1", false))
	if _, err := admitted(t, func() error { return b.put(t, keyOf(keys[0], "1")) }); err == nil {
		t.Fatal("nothing was throttled")
	}
	got := b.Stats()
	want := throttle.Stats{
		WriteUnits: 6 + 2 + 2 + 1, ReadUnits: 0.5, Throttled: 1,
		Spaces: []throttle.SpaceStats{
			{Table: tableName, WriteUnits: 10, ReadUnits: 0.5, Throttled: 1, Partitions: 1000},
			{Table: tableName, Index: byGroup, WriteUnits: 1, Partitions: 1000},
		},
	}
	wantEqual(t, "statistics", want, got)
	text, err := json.Marshal(got)
	if err != nil || !strings.Contains(string(text), `"throttled":1`) {
		t.Errorf("as JSON: %s, %v", text, err)
	}
	b.Reset()
	if got := b.Stats(); got.WriteUnits != 0 || got.Throttled != 0 || len(got.Spaces) != 0 {
		t.Errorf("after a reset: %+v", got)
	}
	if err := b.put(t, keyOf(keys[0], "1")); err == nil {
		t.Error("a reset filled the bucket")
	}
}

// TestTablesChange checks that a table made again under its name is charged by its new key schema.
func TestTablesChange(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 1})
	fill := func() {
		t.Helper()
		if count, _ := admitted(t, func() error { return b.put(t, keyOf("a", "1")) }); count != 1 {
			t.Errorf("%d writes admitted, want 1", count)
		}
	}
	fill()
	_, err := b.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(tableName)})
	require.NoError(t, err)
	if err := b.put(t, keyOf("a", "1")); !errors.As(err, new(*types.ResourceNotFoundException)) {
		t.Errorf("a deleted table: %v, want a ResourceNotFoundException", err)
	}
	table := onDemandTable()
	table.KeySchema[0], table.KeySchema[1] = types.KeySchemaElement{AttributeName: aws.String("sk"), KeyType: types.KeyTypeHash},
		types.KeySchemaElement{AttributeName: aws.String("pk"), KeyType: types.KeyTypeRange}
	table.LocalSecondaryIndexes = nil
	_, err = b.db.CreateTable(t.Context(), table)
	require.NoError(t, err)
	b.Reset()
	fill()
	if got := b.Report().Throttled; len(got) != 1 || got[0].Key != "1" {
		t.Errorf("throttled %+v, want the new partition key", got)
	}
}

// TestConcurrentUse checks that statistics count each of many concurrent calls.
func TestConcurrentUse(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 4, PartitionWCU: 10})
	const writers, each = 8, 25
	counts := make([]int, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				err := b.update(t, updateOf(fmt.Sprint("key", i), "ADD #x :n", values{":n": n("1")}))
				if err == nil {
					counts[w]++
				} else if _, ok := errors.AsType[*types.ThrottlingException](err); !ok {
					t.Error(err)
				}
				b.advance(time.Millisecond)
				b.Stats()
			}
		})
	}
	wg.Wait()
	accepted := 0
	for _, c := range counts {
		accepted += c
	}
	stats := b.Stats()
	if stats.WriteUnits != float64(accepted) || stats.Throttled != int64(writers*each-accepted) {
		t.Errorf("%d of %d calls were accepted, the statistics are %+v", accepted, writers*each, stats)
	}
	if limit := 4 * (10 + 2); accepted > limit { // 200 ms refill 2 units
		t.Errorf("%d writes accepted, want at most %d", accepted, limit)
	}
}

// TestRequestIsLeftAlone checks that the limiter closes the request's body and changes no header, as http.RoundTripper
// requires.
func TestRequestIsLeftAlone(t *testing.T) {
	b := newBench(t, roomy)
	body := &closed{Reader: strings.NewReader(`{"TableName":"limited","Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}`)}
	req := b.request(t, enginetest.Endpoint(t), "PutItem", body)
	header := req.Header.Clone()
	resp, err := b.RoundTrip(req)
	require.NoError(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !body.is {
		t.Errorf("status %s, body closed %v", resp.Status, body.is)
	}
	wantEqual(t, "headers after the round trip", header, req.Header)
}

type closed struct {
	io.Reader
	is bool
}

func (c *closed) Close() error {
	c.is = true
	return nil
}
