package events_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

// putLate puts an event again and again with one of three values. First attempts may time out and be applied after newer
// puts. It returns the number of those attempts, and an error if the event has not the last put's data.
func putLate(t *testing.T, d *deployment, seed, key uint64) (held int, err error) {
	random, writes := rand.New(rand.NewPCG(seed, key)), 0
	client := &libtest.Late{Client: d.Client, Hold: func() bool {
		writes++
		return writes <= 2 && random.IntN(2) == 0 // of a call: its put, or its replacement
	}}
	writers := []*events.Writer{
		events.NewWriter(client, d.Names.Events, d.Shards, events.Options{}),
		events.NewWriter(client, d.Names.Events, d.Shards, events.Options{Retention: time.Hour}),
	}
	ev := events.Event{Entity: fmt.Sprint("e", seed), ID: fmt.Sprint("id", key), Time: libtest.Later}
	for i := range 8 {
		want := fmt.Sprint(random.IntN(3))
		writes = 0
		ev.Data = map[string]types.AttributeValue{"text": libtest.Str(want), "size": &types.AttributeValueMemberN{Value: "1.50"}}
		writer := writers[random.IntN(2)]
		if err := errors.Join(writer.Put(libtest.Within(t), []events.Event{ev}, libtest.Later)...); err != nil {
			return client.Held, fmt.Errorf("put %d: %w", i, err)
		}
		client.Apply(random, 1+random.IntN(3))
		got, err := events.NewReader(d.Client, d.Names.Events, d.Shards).Get(libtest.Within(t), ev.Entity, ev.ID, ev.Time, libtest.Later)
		if err != nil || libtest.Text(got.Data["text"]) != want {
			return client.Held, fmt.Errorf("after put %d of %s: %v, %v", i, want, got.Data, err)
		}
	}
	return client.Held, nil
}

// TestLateAttemptsReplaceNoNewerData checks that no event of 60 gets older data back if first attempts of acknowledged
// puts of one event are applied after newer puts.
func TestLateAttemptsReplaceNoNewerData(t *testing.T) {
	t.Parallel()
	first := require.Seed(t)
	for seed := first; seed < first+uint64(require.Runs(1, 3)); seed++ {
		d := deploy(t)
		var wg sync.WaitGroup
		var mu sync.Mutex
		wrong, late := 0, 0
		for key := range uint64(60) {
			wg.Go(func() {
				held, err := putLate(t, d, seed, key)
				mu.Lock()
				defer mu.Unlock()
				if late += held; err != nil {
					wrong++
					t.Logf("seed %d, key %d: %v", seed, key, err)
				}
			})
		}
		wg.Wait()
		if wrong > 0 || late == 0 {
			t.Errorf("seed %d: %d of 60 events have older data, after %d late attempts; want 0 after some", seed, wrong, late)
		}
	}
}

// TestALateReplacementLeavesNewerDataOfOtherCalls checks that a late attempt to replace an event for the first time leaves
// the data that a newer call with several events or a transaction put since. Those calls set no rev.
func TestALateReplacementLeavesNewerDataOfOtherCalls(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	plain := events.NewWriter(d.Client, d.Names.Events, d.Shards, events.Options{})
	other := events.Event{Entity: "e", ID: "other", Time: libtest.Later}
	for name, put := range map[string]func(events.Event) error{
		"several events": func(ev events.Event) error {
			return errors.Join(plain.Put(libtest.Within(t), []events.Event{ev, other}, libtest.Later)...)
		},
		"a transaction": func(ev events.Event) error {
			w, err := plain.PutTransact(libtest.Within(t), ev, libtest.Later)
			require.NoError(t, err)
			_, err = d.Client.TransactWriteItems(libtest.Within(t), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{w.Action}})
			return err
		},
	} {
		ev, writes := events.Event{Entity: "e", ID: name, Time: libtest.Later}, 0
		with := func(text string) events.Event {
			ev.Data = map[string]types.AttributeValue{"text": libtest.Str(text)}
			return ev
		}
		require.NoError(t, put(with("first")))
		late := &libtest.Late{Client: d.Client, Hold: func() bool { writes++; return writes == 2 }} // the replacement
		writer := events.NewWriter(late, d.Names.Events, d.Shards, events.Options{})
		require.NoError(t, errors.Join(writer.Put(libtest.Within(t), []events.Event{with("second")}, libtest.Later)...))
		require.NoError(t, put(with("third")))
		late.Apply(rand.New(rand.NewPCG(1, 1)), 1)
		got, err := events.NewReader(d.Client, d.Names.Events, d.Shards).Get(libtest.Within(t), ev.Entity, ev.ID, ev.Time, libtest.Later)
		if err != nil || libtest.Text(got.Data["text"]) != "third" || late.Held != 1 {
			t.Errorf("%s: after %d late attempts %v, %v; want the third put's data after 1", name, late.Held, got.Data, err)
		}
	}
}
