package shardmap_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestInvalidKeysAreRejected checks that keys which can't be stored are rejected. Keys that resemble the map's own
// items are valid.
func TestInvalidKeysAreRejected(t *testing.T) {
	d := deploy(t)
	now := libtest.Later
	c := d.Changer(shardmap.ChangerOptions{})
	long := strings.Repeat("k", 1025)
	for _, key := range []string{"", long} {
		_, pinned := c.Pin(libtest.Within(t), key, 4, libtest.Note, now)
		_, reset := c.Reset(libtest.Within(t), key, now)
		_, grown := c.GrowFrom(libtest.Within(t), shardmap.Entry{Key: key}, 4, libtest.Note, now)
		for name, err := range map[string]error{"pin": pinned, "reset": reset, "grow": grown, "forget": c.Forget(libtest.Within(t), key, now)} {
			if !errors.Is(err, shard.ErrMisused) {
				t.Errorf("%s of %.9q: error %v, want ErrMisused", name, key, err)
			}
		}
	}
	if _, err := d.Shards.Lookup(libtest.Within(t), "", now); !errors.Is(err, shard.ErrMisused) {
		t.Errorf("lookup of an empty key: error %v, want ErrMisused", err)
	}
	if entry, err := d.Shards.Read(libtest.Within(t), long); err != nil || entry.Most() != 1 {
		t.Errorf("Read of a key of 1,025 bytes: %+v, %v; want 1 write shard", entry, err)
	}
	unusual := []string{"log", "log#7", "keys#3", "partitions", strings.Repeat("é", 512)}
	for i, key := range unusual {
		d.Pin(t, key, 5+i, now)
	}
	for name, view := range map[string]*shardmap.Map{"new": shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}), "the changer's": c.Map} {
		for i, key := range unusual {
			entry, err := view.Lookup(libtest.Within(t), key, now.Add(shardmap.ViewAge+time.Second))
			if err != nil || entry.History.Newest() != 5+i {
				t.Errorf("%s view, key %.9q: %+v, %v; want %d write shards", name, key, entry, err, 5+i)
			}
		}
	}
}
