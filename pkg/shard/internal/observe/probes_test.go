package observe_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

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
		p := observe.NewProbes(client, &recorder{})
		full := func(key string) bool {
			w := shardmap.Write{Attempt: shard.Attempt{Key: key, Kind: string(schema.Counter)}, Probe: dynamo.Item{}}
			return p.Outcome(t.Context(), w, 0, libtest.CanceledFor("ThrottlingError")) == shard.Throttled
		}
		for i := range 1010 {
			key := "C#" + string(rune(i))
			client.during = func() {
				if full(key) {
					t.Errorf("the partition is full while its probe %d is in flight", i)
				}
			}
			if got := full(key); got != (i < 1000) {
				t.Errorf("probe %d: full = %t", i, got)
			}
		}
		if len(client.Probed) != 1000 {
			t.Errorf("%d probes, want 1000", len(client.Probed))
		}
		if got, want := dynamo.Digits(client.Probed[0].Item, "expires_at"), fmt.Sprint(time.Now().Add(time.Hour).Unix()); got != want {
			t.Errorf("the probe expires at %s, want %s", got, want)
		}
		time.Sleep(time.Second)
		client.during = func() {}
		if !full("C#later") {
			t.Error("a second later no key is probed")
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
		p := observe.NewProbes(client, &recorder{})
		w := shardmap.Write{Attempt: shard.Attempt{Key: "C#a", Kind: string(schema.Counter)}, Probe: c.probe, Transfer: c.transfer}
		if got := p.Outcome(t.Context(), w, 1, c.err); got != c.want || len(client.Probed) > 0 != (got == shard.Throttled) {
			t.Errorf("%s: outcome %v after %d probes, want %v", name, got, len(client.Probed), c.want)
		}
	}
}
