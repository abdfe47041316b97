package ddb

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// slowMap is a fakeMap whose pages and transactions take longer.
type slowMap struct {
	*fakeMap
	pageTakes, writeTakes time.Duration
}

func (s slowMap) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	time.Sleep(s.pageTakes)
	return s.fakeMap.Scan(ctx, in, o...)
}

func (s slowMap) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	time.Sleep(s.writeTakes)
	return s.fakeMap.TransactWriteItems(ctx, in, o...)
}

// TestASlowDeletionIsMetByALoad: it takes two minutes to take a key's name out of the
// log, and a load sees the key just before it is deleted, and the deletion.
func TestASlowDeletionIsMetByALoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeMap{page: 10, takes: 10 * time.Millisecond, trips: 10 * time.Millisecond, items: map[string]item{}}
		const changes = 60
		for n := int64(1); n <= changes; n++ {
			f.change(n, "C#a", 16)
		}
		reset := Entry{Key: "C#a", Max: 16, Version: changes + 1, Updated: time.Now()}
		it, log := reset.attributes(), reset.attributes()
		it["pk"] = &types.AttributeValueMemberS{Value: reset.Key}
		log["pk"], log[attrKey] = logKey(reset.Version)["pk"], it["pk"]
		f.items[reset.Key], f.items[text(log, "pk")] = it, log

		client := slowMap{fakeMap: f, writeTakes: 2 * time.Second}
		done := make(chan error)
		go func() {
			done <- NewMapChanger(client, NewMap(f, "m"), ChangerOptions{}).Forget(t.Context(), reset.Key, time.Now())
		}()
		time.Sleep(changes*client.writeTakes + time.Second)
		m := NewMap(slowMap{fakeMap: f, pageTakes: time.Second}, "m")
		if _, err := m.Lookup(t.Context(), reset.Key, time.Now()); err != nil || m.current().last() != changes+2 {
			t.Errorf("loaded up to change %d, %v", m.current().last(), err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		c := NewMapChanger(f, NewMap(f, "m"), ChangerOptions{})
		if _, err := c.Pin(t.Context(), reset.Key, 9, Note{}, time.Now()); err != nil { // its versions start over
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if e, err := m.Lookup(t.Context(), reset.Key, time.Now()); err != nil || e.History.Newest() != 9 {
			t.Errorf("%d write shards, %v, at version %d", e.History.Newest(), err, e.Version)
		}
	})
}
