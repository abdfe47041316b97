package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// insist calls until a machine that is busy has done it within a change's second, and
// takes it for done when there is nothing left to do.
func insist(t *testing.T, call func() error) {
	t.Helper()
	for range 20 {
		err := call()
		if err == nil || errors.Is(err, ddb.ErrNoChange) {
			return
		}
		if !errors.Is(err, ddb.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	t.Fatal("it was not done in 20 attempts")
}

// pin sets a key's shard count, and returns when that comes into force.
func (d *deployment) pin(t *testing.T, key string, n int, now time.Time) time.Time {
	t.Helper()
	c := d.changer(ddb.ChangerOptions{})
	var entry ddb.Entry
	insist(t, func() (err error) { entry, err = c.Pin(within(t), key, n, note, now); return err })
	return entry.Effective()
}

// forget takes a key out of the map.
func (d *deployment) forget(t *testing.T, key string, now time.Time) {
	t.Helper()
	c := d.changer(ddb.ChangerOptions{})
	insist(t, func() error { _, err := c.Reset(within(t), key, now); return err })
	insist(t, func() error { return c.Forget(within(t), key, now) })
}

// named counts the items of the shard map that have a key's name anywhere, and stay.
func (d *deployment) named(t *testing.T, key string) (n int) {
	t.Helper()
	out, err := d.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &d.names.ShardMap})
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

// TestForgottenKeys: whatever happens to keys in which order, a view that was brought
// up, however old, and one that is new say what the table says, and nothing stays of
// a key that was forgotten.
func TestForgottenKeys(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	now := later
	keys := []string{"C#a", "C#b", "E#a"}
	views := []*ddb.Map{ddb.NewMap(d.client, d.names.ShardMap), ddb.NewMap(d.client, d.names.ShardMap)}
	for range lane.Runs(25, 60) {
		now = now.Add(30 * time.Second)
		key := keys[random.IntN(len(keys))]
		if random.IntN(3) > 0 {
			d.pin(t, key, 2+random.IntN(20), now)
		} else if d.named(t, key) > 0 {
			d.forget(t, key, now)
			if n := d.named(t, key); n != 0 {
				t.Fatalf("%d items go on to name %s", n, key)
			}
		}
		asked := append([]*ddb.Map{ddb.NewMap(d.client, d.names.ShardMap)}, views[:random.IntN(len(views)+1)]...)
		for _, view := range asked {
			for _, key := range keys {
				want, err := view.Read(within(t), key)
				if err != nil {
					t.Fatal(err)
				}
				got, err := view.Lookup(within(t), key, now)
				if err != nil || got.History.Newest() != want.History.Newest() || got.Version != want.Version || got.Most() != want.Most() {
					t.Fatalf("%s is %+v in a view, %v; want %+v", key, got, err, want)
				}
			}
		}
	}
}

func TestForgetInSteps(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := later
	c := d.changer(ddb.ChangerOptions{})
	if entry, err := c.Reset(within(t), "C#x", now); !errors.Is(err, ddb.ErrNoChange) || entry.Version != 0 {
		t.Errorf("resetting a key that is not there: %+v, %v", entry, err)
	}
	if err := c.Forget(within(t), "C#x", now); !errors.Is(err, ddb.ErrNoChange) {
		t.Errorf("forgetting a key that is not there: %v", err)
	}
	d.pin(t, "C#x", 7, now)
	if err := c.Forget(within(t), "C#x", now); !errors.Is(err, ddb.ErrInUse) {
		t.Errorf("forgetting a key that is in use: %v", err)
	}
	entry, err := c.Reset(within(t), "C#x", now)
	if err != nil || entry.History.Newest() != 1 || entry.Most() != 7 || entry.Pinned {
		t.Errorf("reset: %+v, %v", entry, err)
	}
	if again, err := c.Reset(within(t), "C#x", now); !errors.Is(err, ddb.ErrNoChange) || again.Version != entry.Version {
		t.Errorf("resetting again: %+v, %v", again, err)
	}
	insist(t, func() error { _, err := c.Grow(within(t), "C#x", 3, note, now); return err })
	if err := c.Forget(within(t), "C#x", now); !errors.Is(err, ddb.ErrInUse) {
		t.Errorf("forgetting a key that grew again: %v", err)
	}
	d.forget(t, "C#x", now)
	if err := c.Forget(within(t), "C#x", now); !errors.Is(err, ddb.ErrNoChange) {
		t.Errorf("forgetting again: %v", err)
	}
	gone, err := c.Read(within(t), "C#x")
	if err != nil || gone.Most() != 1 || gone.Version <= entry.Version {
		t.Errorf("forgotten: %+v, %v", gone, err)
	}
	if list, err := c.Entries(within(t), now); err != nil || len(list) != 0 {
		t.Errorf("listed: %+v, %v", list, err)
	}
	insist(t, func() error { _, err := c.GrowFrom(within(t), gone, 5, note, now); return err })
	if again, err := c.Lookup(within(t), "C#x", now.Add(time.Minute)); err != nil || again.Most() != 5 || again.Version != gone.Version+1 {
		t.Errorf("used again: %+v, %v", again, err)
	}
}

// dying ends after so many transactions.
type dying struct {
	ddb.ChangerClient
	left int
}

var errDied = errors.New("it died")

func (d *dying) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if d.left--; d.left < 0 {
		return nil, errDied
	}
	return d.ChangerClient.TransactWriteItems(ctx, in, o...)
}

// TestForgetAgain: one that is killed, before or after its first step, is finished by the
// next.
func TestForgetAgain(t *testing.T) {
	d := deploy(t)
	now := later
	for dies := range 2 {
		key := fmt.Sprintf("C#%d", dies)
		for n := range 3 {
			d.pin(t, key, 5+n, now)
		}
		old := ddb.NewMap(d.client, d.names.ShardMap)
		if _, err := old.Lookup(within(t), key, now); err != nil {
			t.Fatal(err)
		}
		mortal := &dying{d.client, dies}
		m := patient(ddb.NewMapChanger(mortal, ddb.NewMap(d.client, d.names.ShardMap), ddb.ChangerOptions{}))
		if _, err := m.Reset(within(t), key, now); err == nil {
			err = m.Forget(within(t), key, now)
			if err == nil {
				t.Fatalf("it did not die after %d transactions", dies)
			}
		}
		d.forget(t, key, now)
		later := now.Add(ddb.ViewAge + time.Second)
		for name, view := range map[string]*ddb.Map{"old": old, "new": ddb.NewMap(d.client, d.names.ShardMap)} {
			if entry, err := view.Lookup(within(t), key, later); err != nil || entry.Most() != 1 || len(entry.History) != 0 {
				t.Errorf("dying after %d: %s view: %+v, %v", dies, name, entry, err)
			}
		}
		if n := d.named(t, key); n != 0 {
			t.Errorf("dying after %d: %d items go on to name the key", dies, n)
		}
	}
}

// TestLoadsDuringDeletions: a view that is loaded while keys come and go has none, a
// poll later, of those that went.
func TestLoadsDuringDeletions(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := later
	var views []*ddb.Map
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			view := ddb.NewMap(d.client, d.names.ShardMap)
			if _, err := view.Lookup(within(t), "C#0", now); err != nil {
				t.Error(err)
			}
			views = append(views, view)
		}
	})
	for i := range 15 {
		key := fmt.Sprintf("C#%d", i%4)
		d.pin(t, key, 9, now)
		d.forget(t, key, now)
	}
	close(stop)
	wg.Wait()
	if len(views) == 0 {
		t.Fatal("no view was loaded")
	}
	later := now.Add(ddb.ViewAge + time.Second)
	for i, view := range views {
		for n := range 4 {
			if entry, err := view.Lookup(within(t), fmt.Sprintf("C#%d", n), later); err != nil || entry.Most() != 1 {
				t.Fatalf("view %d: %+v, %v", i, entry, err)
			}
		}
	}
}
