package once

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestKeyIsProbedOncePerSecond checks that a key is probed once a second, and that the result is used for all throttles of
// this second.
func TestKeyIsProbedOncePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for probe, want := range map[error]bool{libtest.Hot(libtest.TableHot): true, libtest.Hot("TableWriteAccountLimitExceeded"): false, nil: false} {
			client, w, shards := &libtest.Scripted{Probe: probe}, &libtest.Listener{}, libtest.EmptyMap()
			try := &onceTry{Applier: New(client, "t", Options{Observer: w}), observed: observe.Begin(w)}
			c := counters.NewWriter(nil, "t", shards, counters.Options{})
			for range 20 { // in two seconds
				writes := []shardmap.Write{c.AddTransact(t.Context(), "a", 1, time.Now()), c.AddTransact(t.Context(), "b", 1, time.Now())}
				try.observe(t.Context(), writes, libtest.CanceledFor("ThrottlingError", "ProvisionedThroughputExceeded", "None"))
				time.Sleep(100 * time.Millisecond)
			}
			if len(client.Probed) != 2*2 {
				t.Errorf("%v: %d probes in two seconds for two keys", probe, len(client.Probed))
			}
			if got := len(w.Outcomes("C#a")); got != 20 && want || got != 0 && !want {
				t.Errorf("%v: observed %d of 20 throttles, want all: %t", probe, got, want)
			}
		}
	})
}

// nested is a client that calls during for each probe.
type nested struct {
	libtest.Scripted
	during func()
}

func (n *nested) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	n.during()
	return n.Scripted.PutItem(ctx, in, o...)
}

// TestProbesPerSecondAreBounded checks that at most 1,000 keys are probed in a second, each by one caller. The others take
// the partition for not full. TTL deletes a probe's item an hour later.
func TestProbesPerSecondAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &nested{Scripted: libtest.Scripted{Probe: libtest.Hot(libtest.TableHot)}}
		p := &probes{client: client, table: "t"}
		write := func(key string) shardmap.Write {
			return shardmap.Write{Attempt: shard.Attempt{Key: key}, Probe: dynamo.Item{}}
		}
		for i := range 1010 {
			key := "C#" + string(rune(i))
			client.during = func() {
				if p.full(t.Context(), write(key)) {
					t.Errorf("the partition is full while its probe %d is in flight", i)
				}
			}
			if got := p.full(t.Context(), write(key)); got != (i < 1000) {
				t.Errorf("probe %d: full = %t", i, got)
			}
		}
		if len(client.Probed) != 1000 || len(p.probed) != 1000 {
			t.Errorf("%d probes, %d keys; want 1000", len(client.Probed), len(p.probed))
		}
		if got, want := dynamo.Digits(client.Probed[0].Item, "expires_at"), fmt.Sprint(time.Now().Add(time.Hour).Unix()); got != want {
			t.Errorf("the probe expires at %s, want %s", got, want)
		}
		time.Sleep(time.Second)
		client.during = func() {}
		if !p.full(t.Context(), write("C#later")) || len(p.probed) != 1 {
			t.Errorf("a second later %d keys are cached, want 1", len(p.probed))
		}
	})
}

// TestOutcomeOfAWrite checks a write's outcome by the transaction's error.
func TestOutcomeOfAWrite(t *testing.T) {
	probe := dynamo.Item{}
	for name, c := range map[string]struct {
		err      error
		probe    dynamo.Item
		transfer bool
		want     shard.Outcome
	}{
		"applied":                       {nil, probe, false, shard.Accepted},
		"a transfer":                    {nil, probe, true, shard.Inconclusive},
		"a throttled transfer":          {libtest.CanceledFor("None", "ThrottlingError"), probe, true, shard.Inconclusive},
		"unknown":                       {libtest.LostAnswer{}, probe, false, shard.Inconclusive},
		"fewer reasons than writes":     {libtest.CanceledFor("ThrottlingError"), probe, false, shard.Inconclusive},
		"another write's conflict":      {libtest.CanceledFor("TransactionConflict", "None"), probe, false, shard.Inconclusive},
		"its conflict":                  {libtest.CanceledFor("None", "TransactionConflict"), probe, false, shard.Conflicted},
		"another write's throttle":      {libtest.CanceledFor("ThrottlingError", "None"), probe, false, shard.Inconclusive},
		"its throttle":                  {libtest.CanceledFor("None", "ThrottlingError"), probe, false, shard.Throttled},
		"its throttle, provisioned":     {libtest.CanceledFor("None", "ProvisionedThroughputExceeded"), probe, false, shard.Throttled},
		"its throttle, without a probe": {libtest.CanceledFor("None", "ThrottlingError"), nil, false, shard.Inconclusive},
		"its condition":                 {libtest.CanceledFor("None", "ConditionalCheckFailed"), probe, false, shard.Inconclusive},
	} {
		client := &libtest.Scripted{Probe: libtest.Hot(libtest.TableHot)}
		p := &probes{client: client, table: "t"}
		w := shardmap.Write{Attempt: shard.Attempt{Key: "C#a", Kind: string(kind.Counter)}, Probe: c.probe, Transfer: c.transfer}
		if got := p.outcome(t.Context(), w, 1, c.err); got != c.want || len(client.Probed) > 0 != (got == shard.Throttled) {
			t.Errorf("%s: outcome %v after %d probes, want %v", name, got, len(client.Probed), c.want)
		}
	}
}

// TestMarkerFailed checks in which cases a transaction was canceled for its marker, which is the last action.
func TestMarkerFailed(t *testing.T) {
	for code, want := range map[string]bool{"None": false, "ThrottlingError": false, "TransactionConflict": true, "ConditionalCheckFailed": true} {
		if got := markerFailed(libtest.CanceledFor("None", code), 1); got != want {
			t.Errorf("%s: %t, want %t", code, got, want)
		}
	}
	if markerFailed(libtest.CanceledFor("TransactionConflict"), 1) || markerFailed(libtest.LostAnswer{}, 0) || markerFailed(nil, 0) {
		t.Error("markerFailed = true without a reason of the marker")
	}
}
