package shardmap_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/libtest"
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
	for range lane.Runs(25, 60) {
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

// TestForgetNeedsReset checks that Forget deletes only a key that was reset, and that the key can grow again later.
func TestForgetNeedsReset(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := libtest.Later
	c := d.Changer(shardmap.ChangerOptions{})
	if entry, err := c.Reset(libtest.Within(t), "C#x", now); !errors.Is(err, shardmap.ErrNoChange) || entry.Version != 0 {
		t.Errorf("resetting a key that is not there: %+v, %v", entry, err)
	}
	if err := c.Forget(libtest.Within(t), "C#x", now); !errors.Is(err, shardmap.ErrNoChange) {
		t.Errorf("forgetting a key that is not there: %v", err)
	}
	d.Pin(t, "C#x", 7, now)
	if err := c.Forget(libtest.Within(t), "C#x", now); !errors.Is(err, shardmap.ErrInUse) {
		t.Errorf("forgetting a key that is in use: %v", err)
	}
	entry, err := c.Reset(libtest.Within(t), "C#x", now)
	if err != nil || entry.History.Newest() != 1 || entry.Most() != 7 || entry.Pinned {
		t.Errorf("reset: %+v, %v", entry, err)
	}
	if again, err := c.Reset(libtest.Within(t), "C#x", now); !errors.Is(err, shardmap.ErrNoChange) || again.Version != entry.Version {
		t.Errorf("resetting again: %+v, %v", again, err)
	}
	libtest.Insist(t, func() error { _, err := libtest.Grow(libtest.Within(t), c, "C#x", 3, now); return err })
	if err := c.Forget(libtest.Within(t), "C#x", now); !errors.Is(err, shardmap.ErrInUse) {
		t.Errorf("forgetting a key that grew again: %v", err)
	}
	d.forget(t, "C#x", now)
	if err := c.Forget(libtest.Within(t), "C#x", now); !errors.Is(err, shardmap.ErrNoChange) {
		t.Errorf("forgetting again: %v", err)
	}
	gone, err := c.Read(libtest.Within(t), "C#x")
	if err != nil || gone.Most() != 1 || gone.Version <= entry.Version {
		t.Errorf("forgotten: %+v, %v", gone, err)
	}
	if list, err := c.Entries(libtest.Within(t)); err != nil || len(list) != 0 {
		t.Errorf("listed: %+v, %v", list, err)
	}
	libtest.Insist(t, func() error { _, err := c.GrowFrom(libtest.Within(t), gone, 5, libtest.Note, now); return err })
	if again, err := c.Lookup(libtest.Within(t), "C#x", now.Add(time.Minute)); err != nil || again.Most() != 5 || again.Version != gone.Version+1 {
		t.Errorf("used again: %+v, %v", again, err)
	}
}

// dying is a client whose transactions fail after the first left ones.
type dying struct {
	shardmap.ChangerClient
	left int
}

var errDied = errors.New("it died")

func (d *dying) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if d.left--; d.left < 0 {
		return nil, errDied
	}
	return d.ChangerClient.TransactWriteItems(ctx, in, o...)
}

// TestForgetCompletesInterruptedOne checks that Reset and Forget complete a deletion that died before or after its
// first transaction.
func TestForgetCompletesInterruptedOne(t *testing.T) {
	d := deploy(t)
	now := libtest.Later
	for dies := range 2 {
		key := fmt.Sprintf("C#%d", dies)
		for n := range 3 {
			d.Pin(t, key, 5+n, now)
		}
		old := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
		if _, err := old.Lookup(libtest.Within(t), key, now); err != nil {
			t.Fatal(err)
		}
		mortal := &dying{d.Client, dies}
		m := libtest.Patient(shardmap.NewChanger(mortal, shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{}))
		if _, err := m.Reset(libtest.Within(t), key, now); err == nil {
			err = m.Forget(libtest.Within(t), key, now)
			if err == nil {
				t.Fatalf("Forget succeeded after %d transactions, want an error", dies)
			}
		}
		d.forget(t, key, now)
		later := now.Add(shardmap.ViewAge + time.Second)
		for name, view := range map[string]*shardmap.Map{"old": old, "new": shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})} {
			if entry, err := view.Lookup(libtest.Within(t), key, later); err != nil || entry.Most() != 1 || len(entry.History) != 0 {
				t.Errorf("dying after %d: %s view: %+v, %v", dies, name, entry, err)
			}
		}
		if n := d.named(t, key); n != 0 {
			t.Errorf("dying after %d: %d permanent items still contain the key", dies, n)
		}
	}
}
