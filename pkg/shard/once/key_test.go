package once_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestInvalidKeysAreRejected checks that a call whose key would be shared with other calls
// fails with ErrMisused, and writes nothing.
func TestInvalidKeysAreRejected(t *testing.T) {
	calls := once.New(&libtest.Scripted{}, "t", once.Options{})
	for name, key := range map[string]string{
		"empty": "", "invalid UTF-8": "\xff", "truncated rune": "order-\xc3", "too long": strings.Repeat("k", 2047),
	} {
		t.Run(name, func(t *testing.T) {
			call := once.Call{Key: key, Digest: []byte("d")}
			writes := func(context.Context) ([]shardmap.Write, error) {
				t.Error("the call's writes were built")
				return nil, nil
			}
			if _, err := calls.Do(t.Context(), call, enginetest.Later, writes); !errors.Is(err, shard.ErrMisused) {
				t.Errorf("Do: %v, want ErrMisused", err)
			}
			if _, err := calls.Before(t.Context(), call, enginetest.Later); !errors.Is(err, shard.ErrMisused) {
				t.Errorf("Before: %v, want ErrMisused", err)
			}
		})
	}
}

// TestLongestKeyIsUsable checks against the engine that a key of the documented length works, and
// that keys which differ in their last byte are two calls.
func TestLongestKeyIsUsable(t *testing.T) {
	d := libtest.Deploy(t)
	shards := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
	calls := once.New(d.Client, d.Names.Items, once.Options{})
	writer := counters.NewWriter(d.Client, d.Names.Items, shards, counters.Options{})
	for _, last := range []string{"a", "b", "a"} {
		_, err := calls.Do(t.Context(), once.Call{Key: strings.Repeat("k", 2045) + last}, enginetest.Later, func(ctx context.Context) ([]shardmap.Write, error) {
			return []shardmap.Write{writer.AddTransact(ctx, "orders", 1, enginetest.Later)}, nil
		})
		if err != nil {
			t.Fatalf("key ending in %s: %v", last, err)
		}
	}
	if sum, err := counters.NewReader(d.Client, d.Names.Items, shards).Sum(t.Context(), "orders"); err != nil || sum.Value.String() != "2" {
		t.Errorf("the counter is %v, %v; want 2", sum.Value, err)
	}
}

// TestMarkersInACallersTable checks that an applier with the names of a caller's table and a lifetime applies a call once
// in that time, and again after it.
func TestMarkersInACallersTable(t *testing.T) {
	d := libtest.Deploy(t)
	table := libtest.Theirs(t, d.Client, "S")
	calls := once.New(d.Client, table, once.Options{PartitionKey: "customer", SortKey: "placed", TTL: "ends", Lifetime: 2 * time.Hour})
	for _, c := range []struct {
		after   time.Duration
		applied bool
	}{{0, false}, {2*time.Hour - time.Second, true}, {2 * time.Hour, false}, {4*time.Hour - time.Second, true}} {
		now := libtest.Later.Add(c.after)
		before, err := calls.Before(t.Context(), once.Call{Key: "k"}, now)
		if err != nil || (before != nil) != c.applied {
			t.Errorf("Before after %v: %v, %v; want applied: %t", c.after, before, err, c.applied)
		}
		before, err = calls.Do(t.Context(), once.Call{Key: "k"}, now, func(context.Context) ([]shardmap.Write, error) { return nil, nil })
		if err != nil || (before != nil) != c.applied {
			t.Errorf("Do after %v: %v, %v; want applied: %t", c.after, before, err, c.applied)
		}
	}
	it := enginetest.Scan(t, d.Client, table)[0]
	if libtest.Text(it["customer"]) != "I#k" || libtest.Text(it["ends"]) != fmt.Sprint(libtest.Later.Add(4*time.Hour).Unix()) || len(it) != 6 {
		t.Errorf("the marker is %v", it)
	}
	scripted := &libtest.Scripted{}
	if _, err := once.New(scripted, "t", once.Options{PartitionKey: "id"}).Before(t.Context(), once.Call{Key: "k"}, libtest.Later); err != nil || len(scripted.Read[0].RequestItems["t"].Keys[0]) != 1 {
		t.Errorf("without a sort key: %v, %v", scripted.Read, err)
	}
	for _, o := range []once.Options{{SortKey: "s"}, {PartitionKey: "p", SortKey: "p"}, {PartitionKey: "answer"}, {TTL: "pk"}, {TTL: "v"}, {Lifetime: -1}, {Lifetime: 999 * time.Millisecond}} {
		if _, err := once.New(scripted, "t", o).Before(t.Context(), once.Call{Key: "k"}, libtest.Later); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%+v: %v, want ErrMisused", o, err)
		}
	}
}
