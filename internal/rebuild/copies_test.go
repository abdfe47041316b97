package rebuild_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// TestRemovalsOfCopies checks what is left of an event on two write shards if something happens right before a repair
// removes the copy, and after a repair without disturbance.
func TestRemovalsOfCopies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, nil)
	drop := func(writeShards ...int) func(t testing.TB, name string) {
		return func(t testing.TB, name string) {
			for _, n := range writeShards {
				r.delete(t, r.names.Events, dayOf(name, n), sortKey(1))
			}
		}
	}
	put := func(writeShard, value int) func(t testing.TB, name string) {
		return func(t testing.TB, name string) {
			r.putItem(t, r.names.Events, dayOf(name, writeShard), sortKey(1), item{"data": &types.AttributeValueMemberM{Value: item{"t": num(value)}}})
		}
	}
	for _, c := range []struct {
		name     string
		meantime func(t testing.TB, name string)
		stored   []int // write shards, after the repair
		after    []int // and after another one
	}{
		{"nothing", func(testing.TB, string) {}, []int{0}, []int{0}},
		{"a delete of the other", drop(0), []int{1}, []int{1}},
		{"a delete of the copy", drop(1), []int{0}, []int{0}},
		{"a delete of both", drop(0, 1), nil, nil},
		{"other data for the other", put(0, 9), []int{0}, []int{0}},
		{"other data for the copy", put(1, 9), []int{0}, []int{0}},
		{"a growth", func(t testing.TB, name string) { r.pin(t, "E#"+name, 4) }, []int{0}, []int{0}},
		{"another repair", func(t testing.TB, name string) { check(t, r.checker(repairing), hourTarget(name, hour())) }, []int{0}, []int{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			name := c.name
			r.put(t, name, hour(), 4)
			r.folded(t, name, hour(), 4)
			copies(1)(t, r, name)
			var once sync.Once
			client := enginetest.Before(r.db, func(in any) error {
				if in, ok := in.(*dynamodb.TransactWriteItemsInput); ok && in.TransactItems[0].ConditionCheck != nil {
					once.Do(func() { c.meantime(t, name) })
				}
				return nil
			})
			check(t, r.checkerOver(client, repairing), hourTarget(name, hour()))
			if got := r.holders(t, name); !slices.Equal(got, c.stored) {
				t.Errorf("the event is on write shards %v, want %v", got, c.stored)
			}
			check(t, r.checker(lowering), hourTarget(name, hour()))
			if got := r.holders(t, name); !slices.Equal(got, c.after) {
				t.Errorf("after another repair the event is on write shards %v, want %v", got, c.after)
			}
			enginetest.Eventually(t, func() bool { return len(check(t, r.checker(lowering), hourTarget(name, hour()))) == 0 })
		})
	}
}

// TestRemovedMaximum checks that a rollup doesn't keep the maximum of a removed copy.
func TestRemovedMaximum(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, nil)
	r.put(t, "e", hour(), 4)
	r.pin(t, "E#e", 2)
	r.putItem(t, r.names.Events, dayOf("e", 1), sortKey(1), item{"data": &types.AttributeValueMemberM{Value: item{"t": num(99)}}})
	r.folded(t, "e", hour(), 5)
	if found := check(t, r.checker(repairing), hourTarget("e", hour())); len(found) != 1 || !found[0].Repaired {
		t.Fatalf("findings %+v, want a copy that is removed", found)
	}
	r.folded(t, "e", hour(), 4)
	if found := check(t, r.checker(nil), hourTarget("e", hour())); len(found) > 0 {
		t.Errorf("findings %+v after the repair", found)
	}
}

// holders returns the write shards, of three, that have the event id1 of hour().
func (r *rig) holders(t testing.TB, entity string) (list []int) {
	t.Helper()
	for n := range 3 {
		if r.get(t, r.names.Events, dayOf(entity, n), sortKey(1)) != nil {
			list = append(list, n)
		}
	}
	return list
}

// TestRemovalsThatWait checks that a repair which does not remove an event's copy leaves a finding that needs no Lower: if the process ends in between, and while processes may disagree on the event's write shard.
func TestRemovalsThatWait(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, nil)
	for name, set := range map[string]func(o *rebuild.Options) *dynamodb.Client{
		"the end of the process": func(*rebuild.Options) *dynamodb.Client {
			return enginetest.Before(r.db, func(in any) error {
				if in, ok := in.(*dynamodb.TransactWriteItemsInput); ok && in.TransactItems[0].ConditionCheck != nil {
					return errors.New("killed")
				}
				return nil
			})
		},
		"an event of the last minutes": func(o *rebuild.Options) *dynamodb.Client {
			begun := time.Now()
			o.Now = func() time.Time { return hour().Add(time.Minute + time.Since(begun)) }
			return r.db
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.put(t, name, hour(), 4)
			r.folded(t, name, hour(), 4)
			copies(1, 2)(t, r, name)
			var client *dynamodb.Client
			repair := r.checkerOver(r.db, func(o *rebuild.Options) {
				repairing(o)
				client = set(o)
			})
			if client != r.db {
				repair = r.checkerOver(client, repairing)
			}
			found, err := repair.Check(t.Context(), hourTarget(name, hour()))
			if n := r.eventsIn(t, name, hour()); err == nil && found.Right() || n != 6 || len(r.holders(t, name)) != 2 {
				t.Fatalf("the first repair: %+v, %v, %d events in the rollup; want it unfinished, and 6", found, err, n)
			}
			again := check(t, r.checker(repairing), hourTarget(name, hour()))
			if len(again) != 1 || again[0].State != rebuild.Copy || !again[0].Repaired || !strings.HasPrefix(again[0].Detail, "the event ") {
				t.Errorf("the second repair: %+v, want the copies removed", again)
			}
			if got := r.holders(t, name); !slices.Equal(got, []int{0}) || len(check(t, r.checker(nil), hourTarget(name, hour()))) != 0 {
				t.Errorf("the event is on write shards %v, or there are findings", got)
			}
		})
	}
}
