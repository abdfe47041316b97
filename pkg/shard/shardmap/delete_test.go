package shardmap_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// forget removes a key from the map.
func (d *deployment) forget(t *testing.T, key string, now time.Time) {
	t.Helper()
	c := d.Changer(shardmap.ChangerOptions{})
	libtest.Insist(t, func() error { _, err := c.Reset(libtest.Within(t), key, now); return err })
	libtest.Insist(t, func() error { return c.Forget(libtest.Within(t), key, now) })
}

// named counts the permanent items of the shard map that contain a key's name.
func (d *deployment) named(t *testing.T, key string) (n int) {
	t.Helper()
	out, err := d.Client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &d.Names.ShardMap})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range out.Items {
		if it["expires_at"] != nil {
			continue
		}
		for _, v := range it {
			if s, ok := v.(*types.AttributeValueMemberS); ok && s.Value == key {
				n++
			}
		}
	}
	return n
}

// TestForgottenKeys changes and forgets keys at random. Held and new views always equal the table, and no permanent
// item of a forgotten key is left.
func TestForgottenKeys(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	now := libtest.Later
	keys := []string{"C#a", "C#b", "E#a"}
	views := []*shardmap.Map{shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}), shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})}
	for range require.Runs(25, 60) {
		now = now.Add(30 * time.Second)
		key := keys[random.IntN(len(keys))]
		if random.IntN(3) > 0 {
			d.Pin(t, key, 2+random.IntN(20), now)
		} else if d.named(t, key) > 0 {
			d.forget(t, key, now)
			if n := d.named(t, key); n != 0 {
				t.Fatalf("%d permanent items still contain %s", n, key)
			}
		}
		asked := append([]*shardmap.Map{shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})}, views[:random.IntN(len(views)+1)]...)
		for _, view := range asked {
			for _, key := range keys {
				want, err := view.Read(libtest.Within(t), key)
				if err != nil {
					t.Fatal(err)
				}
				got, err := view.Lookup(libtest.Within(t), key, now)
				if err != nil || got.History.Newest() != want.History.Newest() || got.Version != want.Version || got.Most() != want.Most() {
					t.Fatalf("%s is %+v in a view, %v; want %+v", key, got, err, want)
				}
			}
		}
	}
}
