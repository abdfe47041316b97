package shardmap

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestUnreadableChangeFailsLookupsOfItsKey checks that a key's lookups fail in held and new views until the
// key's next readable change. Other keys' lookups succeed.
func TestUnreadableChangeFailsLookupsOfItsKey(t *testing.T) {
	for name, version := range map[string]types.AttributeValue{
		"unknown form of the history": dynamo.Number(10), "unknown forms of history and version": &types.AttributeValueMemberS{Value: "10"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := enginetest.NewMapTable(10, 0, 0)
			change(f, 9, "E#a", 16)
			change(f, 9, "E#c", 16)
			m := New(f, "m", Options{})
			if _, err := m.Lookup(t.Context(), "E#a", time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			for _, key := range []string{"E#a", "E#b"} {
				it, logs := change(f, 10, key, 40)
				it[attrHistory], it[attrVersion] = newForm, version
				for _, log := range logs {
					log[attrEntry] = newForm
				}
			}
			time.Sleep(ViewAge + time.Second)
			views := map[string]*Map{"held": m, "new": New(f, "m", Options{})}
			check := func(when string, faulty bool) {
				for view, m := range views {
					for key, fails := range map[string]bool{"E#a": faulty, "E#b": true, "E#c": false} {
						if e, err := m.Lookup(t.Context(), key, time.Now()); errors.Is(err, shard.ErrStale) != fails || !fails && e.fault != nil {
							t.Errorf("%s, %s, %s view: %s has %d write shards, error %v; want an error: %v", name, when, view, key, e.History.Newest(), err, fails)
						}
					}
				}
			}
			check("unreadable", true)
			change(f, 11, "E#a", 20)
			time.Sleep(ViewAge + time.Second)
			check("readable again", false)
		})
	}
}
