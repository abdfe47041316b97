package counters_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
)

// TestWritesOfACounter checks the write of each write shard: write shard 0 gets the most write shards that the counter ever
// had, if there was more than one. Each write raises rev by one.
func TestWritesOfACounter(t *testing.T) {
	for _, c := range []struct {
		history []string
		most    string // on write shard 0
		shards  int
	}{{nil, "", 1}, {[]string{"1:1"}, "", 1}, {[]string{"1:2"}, "2", 2}, {[]string{"1:7", "2:3"}, "7", 3}, {[]string{"1:2", "9999999999:3"}, "3", 3}} {
		w := counters.NewWriter(&libtest.Scripted{}, "t", libtest.MapOf("C#c", c.history...), counters.Options{})
		seen := map[int]bool{}
		for range 500 { // in 1 of 10^37 runs, one of two write shards is missed; of three, in 1 of 10^87
			got := w.AddTransact(t.Context(), "c", -4, libtest.Later)
			n := got.Attempt.Shard
			seen[n] = true
			sk, most := "+", ""
			if n == 0 {
				sk, most = "-", c.most
			}
			want := &types.Update{
				TableName: aws.String("t"), Key: dynamo.Key(fmt.Sprint("C#c#", n), sk),
				UpdateExpression:         aws.String("SET rev = if_not_exists(rev, :now) + :one ADD #value :delta"),
				ExpressionAttributeNames: map[string]string{"#value": "value"},
				ExpressionAttributeValues: dynamo.Item{
					":now": dynamo.Number(libtest.Later.UnixMicro()), ":one": dynamo.Number(1), ":delta": dynamo.Number(-4),
				},
			}
			if most != "" {
				*want.UpdateExpression += ", n :most"
				want.ExpressionAttributeValues[":most"] = &types.AttributeValueMemberNS{Value: []string{most}}
			}
			if !reflect.DeepEqual(got.Action.Update, want) || !reflect.DeepEqual(got.Probe, dynamo.Key(fmt.Sprint("C#c#", n), "~probe")) {
				t.Fatalf("%v: write %+v, probe %v; want %+v", c.history, got.Action.Update, got.Probe, want)
			}
		}
		if len(seen) != c.shards {
			t.Errorf("%v: writes to write shards %v, want all %d", c.history, seen, c.shards)
		}
	}
}

// TestRetryAvoidsThrottledWriteShard checks that each attempt of a call goes to another write shard than the one before,
// with the time of the attempt: a write shard that was deleted meanwhile must not start again below its tombstone.
func TestRetryAvoidsThrottledWriteShard(t *testing.T) {
	for range 20 { // a retry on any write shard passes in 1 of 10^32 runs
		synctest.Test(t, func(t *testing.T) {
			client := &libtest.Scripted{Updates: slices.Repeat([]error{libtest.Hot(libtest.TableHot)}, 8)}
			w := counters.NewWriter(client, "t", libtest.MapOf("C#c", "1:2"), counters.Options{})
			begun := time.Now()
			if err := w.Add(t.Context(), "c", 1, libtest.Later); err != nil || len(client.Updated) != 9 {
				t.Fatalf("%v after %d attempts, want 9", err, len(client.Updated))
			}
			for i := range 8 {
				if a, b := client.Updated[i].Key, client.Updated[i+1].Key; reflect.DeepEqual(a, b) {
					t.Errorf("attempts %d and %d are on one write shard", i+1, i+2)
				}
			}
			values := func(i int) string { return dynamo.Digits(client.Updated[i].ExpressionAttributeValues, ":now") }
			if first, last, took := values(0), values(8), time.Since(begun); first != fmt.Sprint(libtest.Later.UnixMicro()) || last != fmt.Sprint(libtest.Later.Add(took).UnixMicro()) {
				t.Errorf("revs start at %s and %s, %v later", first, last, took)
			}
		})
	}
}

// TestResultsOfAdd checks the kind of Add's error and the number of attempts by the errors of the attempts.
func TestResultsOfAdd(t *testing.T) {
	hot := libtest.Hot(libtest.TableHot)
	for name, c := range map[string]struct {
		updates  []error
		attempts int
		want     error
	}{
		"written":         {nil, 1, nil},
		"throttled once":  {[]error{hot}, 2, nil},
		"throttled":       {slices.Repeat([]error{hot}, 99), dynamo.MaxAttempts, shard.ErrThrottled},
		"unknown":         {[]error{&types.InternalServerError{}}, 1, shard.ErrUnavailable},
		"lost connection": {[]error{libtest.LostAnswer{}}, 2, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := &libtest.Scripted{Updates: c.updates}
			err := counters.NewWriter(client, "t", libtest.EmptyMap(), counters.Options{}).Add(t.Context(), "c", 1, libtest.Later)
			if !errors.Is(err, c.want) || len(client.Updated) != c.attempts {
				t.Errorf("%s: %v after %d attempts, want %v after %d", name, err, len(client.Updated), c.want, c.attempts)
			}
		})
	}
}

// counterItem returns a write shard's item with these digits as its value.
func counterItem(n int, digits string) dynamo.Item {
	sk := "+"
	if n == 0 {
		sk = "-"
	}
	it := dynamo.Key(fmt.Sprint("C#c#", n), sk)
	it["value"] = dynamo.Decimal(digits)
	return it
}

// TestSumOfAllWriteShards checks that Sum adds up all write shards that the counter ever had, also those beyond the newest
// count, exactly beyond 64 bits.
func TestSumOfAllWriteShards(t *testing.T) {
	damaged := counterItem(1, "0")
	damaged["value"] = dynamo.String("x")
	for name, c := range map[string]struct {
		history []string
		items   []dynamo.Item
		unread  error
		want    string
		shards  int
		keys    int
		err     error
	}{
		"never written":      {nil, nil, nil, "0", 1, 1, nil},
		"one write shard":    {nil, []dynamo.Item{counterItem(0, "-5")}, nil, "-5", 1, 1, nil},
		"two":                {[]string{"1:2"}, []dynamo.Item{counterItem(0, "7"), counterItem(1, "-5")}, nil, "2", 2, 2, nil},
		"after a decrease":   {[]string{"1:8", "2:2"}, []dynamo.Item{counterItem(0, "1"), counterItem(1, "10"), counterItem(7, "100")}, nil, "111", 2, 8, nil},
		"before an increase": {[]string{"1:2", "9999999999:8"}, []dynamo.Item{counterItem(1, "10"), counterItem(7, "100")}, nil, "110", 8, 8, nil},
		"beyond 64 bits":     {[]string{"1:2"}, []dynamo.Item{counterItem(0, "9223372036854775807"), counterItem(1, "9223372036854775807")}, nil, "18446744073709551614", 2, 2, nil},
		"damaged":            {[]string{"1:2"}, []dynamo.Item{counterItem(0, "7"), damaged}, nil, "", 2, 2, counters.ErrUnreadable},
		"not read":           {[]string{"1:2"}, nil, errBroken, "", 0, 2, errBroken},
	} {
		client := &libtest.Scripted{Items: c.items, Unread: c.unread}
		sum, err := counters.NewReader(client, "t", libtest.MapOf("C#c", c.history...)).Sum(t.Context(), "c")
		read := client.Read[0].RequestItems["t"]
		if !errors.Is(err, c.err) || sum.Shards != c.shards || err == nil && sum.Value.String() != c.want || err != nil && sum.Value != nil || len(read.Keys) != c.keys || !*read.ConsistentRead {
			t.Errorf("%s: %+v, %v after %d keys, consistent: %t; want %+v", name, sum, err, len(read.Keys), *read.ConsistentRead, c)
		}
	}
}
