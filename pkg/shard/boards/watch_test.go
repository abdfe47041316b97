package boards_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestIndexThrottlesAreObserved checks that throttles of the index are observed, and throttles of the table are not.
func TestIndexThrottlesAreObserved(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.SetShards(t, "L#b#2", "1:9")
	d.configure(t, "b#2", boards.Settings{Mode: boards.Latest, Periods: []boards.Period{boards.AllTime, boards.Daily, boards.Weekly}})
	now := libtest.Later
	ann := fmt.Sprintf("L#b#2 %d", shard.Calculated("ann", 9))
	for _, c := range []struct {
		reasons  []string
		scores   []string
		attempts int
		refused  []string
	}{
		{nil, []string{"ann 1", "ann 2"}, 3, nil},
		{nil, []string{"ann 3", "bob 1"}, 6, nil},
		{[]string{libtest.TableHot}, []string{"ann 4"}, 3, nil}, // only this player's item
		{[]string{libtest.IndexHot}, []string{"ann 5"}, 6, []string{ann}},
		{[]string{libtest.TableHot, libtest.IndexHot}, []string{"ann 6"}, 6, []string{ann}},
		{[]string{"IndexWriteMaxOnDemandThroughputExceeded"}, []string{"ann 7"}, 3, nil},
	} {
		w, left := libtest.NewObserved(), 4
		client := &libtest.Flaky{Client: d.Client, Before: func() error {
			if left--; len(c.reasons) > 0 && left > 0 {
				return libtest.Hot(c.reasons...)
			}
			return nil
		}}
		now = now.Add(time.Second)
		view := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
		if _, err := view.Lookup(libtest.Within(t), "L#b#2", now); err != nil { // writers don't wait for a load
			t.Fatal(err)
		}
		submit(t, boards.New(client, d.Names.Items, view, boards.Options{Observer: w, Retention: 48 * time.Hour}), "b#2", now, c.scores...)
		if w.ByKey["L#b#2"] != 1 || len(w.ByKey) != 1 || len(w.Attempts) != c.attempts {
			t.Errorf("%v: requests %v, %d attempts, want %d", c.scores, w.ByKey, len(w.Attempts), c.attempts)
		}
		if got := w.Refused(); !slices.Equal(got, c.refused) || slices.Contains(w.Shown(), "an attempt without a call number") {
			t.Errorf("%v: observed %v, want %v throttled", c.reasons, w.Shown(), c.refused)
		}
	}
}

// TestRemovalsAreObserved checks that removals are observed in each period, with their throttles.
func TestRemovalsAreObserved(t *testing.T) {
	d := deploy(t)
	w, left := libtest.NewObserved(), 4
	client := &libtest.Flaky{Client: d.Client, Before: func() error {
		if left--; left > 0 {
			return libtest.Hot(libtest.IndexHot)
		}
		return nil
	}}
	submit(t, d.boards(d.Client, w), "b", libtest.Later, "ann 1")
	if err := d.boards(client, w).Remove(libtest.Within(t), "b", "ann", libtest.Later.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	want := []string{"L#b 0 accepted by 0", "L#b 0 throttled by 0"}
	if w.ByKey["L#b"] != 1+3 || len(w.Attempts) != 1+2*3 || !slices.Equal(w.Shown(), want) || len(d.Item(t, "L#b#all#ann", "b")) > 0 {
		t.Errorf("requests %v, attempts %v; want 1 and 3 requests, 7 attempts", w.ByKey, w.Attempts)
	}
}

// crowded is a client whose index throttles one partition key.
type crowded struct {
	*dynamodb.Client
	full string
}

func (c *crowded) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if place, ok := in.Item["board_shard"].(*types.AttributeValueMemberS); ok && place.Value == c.full {
		return nil, libtest.Hot(libtest.IndexHot)
	}
	return c.Client.PutItem(ctx, in, o...)
}

// acting is an observer that calls act after each attempt that was not accepted.
type acting struct {
	*libtest.Observed
	act func()
}

func (w *acting) ObserveAttempt(ctx context.Context, a shard.Attempt) {
	w.Observed.ObserveAttempt(ctx, a)
	if a.Outcome != shard.Accepted {
		w.act()
	}
}

// TestRetriesUseTheNewCount checks that the retry of a throttled write uses a count that grew after the first attempt.
func TestRetriesUseTheNewCount(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	grown := sync.OnceFunc(func() {
		if _, err := libtest.Grow(t.Context(), d.Changer(shardmap.ChangerOptions{}), "L#b", 50, libtest.Later); err != nil {
			t.Error(err)
		}
	})
	w := &acting{libtest.NewObserved(), grown}
	boards := d.boards(&crowded{d.Client, schema.BoardShardKey("b", "all", 0)}, w)
	submit(t, boards, "b", libtest.Later, "ann 1", "bob 1")
	for _, player := range []string{"ann", "bob"} {
		want := schema.BoardShardKey("b", "all", shard.Calculated(player, 50))
		if got := d.Item(t, "L#b#all#"+player, "b")["board_shard"].(*types.AttributeValueMemberS).Value; got != want {
			t.Errorf("%s is in %s, want %s", player, got, want)
		}
	}
	if !slices.Equal(w.Refused(), []string{"L#b 0"}) || w.ByKey["L#b"] != 1 {
		t.Errorf("observed %v and requests %v, want L#b 0 throttled and one request", w.Shown(), w.ByKey)
	}
}

// TestScoreWithoutEffectIsNotWritten checks that a score which changes nothing is neither written nor observed.
func TestScoreWithoutEffectIsNotWritten(t *testing.T) {
	d := deploy(t)
	now := libtest.Later
	d.configure(t, "total", boards.Settings{Mode: boards.Total})
	for board, points := range map[string]string{"best": "1", "total": "0"} {
		submit(t, d.boards(d.Client, nil), board, now, "ann 1")
		w := libtest.NewObserved()
		client := &libtest.Flaky{Client: d.Client, Before: func() error { t.Errorf("%s: a write was sent", board); return nil }}
		submit(t, d.boards(client, w), board, now.Add(time.Second), "ann "+points)
		if len(w.ByKey) > 0 || len(w.Attempts) > 0 {
			t.Errorf("%s: observed requests %v and attempts %v, want none", board, w.ByKey, w.Shown())
		}
	}
}

// TestHotIndexIsObserved checks that keyed and other scores observe a full partition of the index. The limiter's clock
// stands still. One board has the sort key of a probe as its name.
func TestHotIndexIsObserved(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := libtest.Later
	for _, board := range []string{"b", schema.ProbeSK} {
		client, _ := d.Limited(t, throttle.Options{
			Partitions: 64, PartitionWCU: 5, PartitionRCU: 1000, Now: func() time.Time { return now },
		})
		submit(t, d.boards(d.Client, nil), board, now, "3 1", "7 1")
		rise := func(to int) (scores []boards.PlayerScore) {
			for i := range 30 {
				scores = append(scores, boards.PlayerScore{Player: fmt.Sprint(i), Score: score(t, fmt.Sprint(to+i))})
			}
			return scores
		}
		unkeyed := func(ctx context.Context, w shard.Observer, to int) error {
			return errors.Join(d.boards(client, w).Submit(ctx, board, rise(to), now)...)
		}
		keyed := func(ctx context.Context, w shard.Observer, to int) error {
			actions := func(ctx context.Context) ([]shardmap.Write, error) {
				return d.boards(client, w).SubmitTransact(ctx, board, rise(to)[7:8], now, now)
			}
			call := once.Call{Key: board, Digest: []byte("d"), Answer: []byte("a")}
			_, err := once.New(client, d.Names.Items, once.Options{Observer: w}).Do(ctx, call, now, actions)
			return err
		}
		want := fmt.Sprintf("L#%s 0", board)
		for i, send := range []func(context.Context, shard.Observer, int) error{unkeyed, unkeyed, keyed} {
			ctx, cancel := context.WithCancel(libtest.Within(t))
			w := &acting{libtest.NewObserved(), cancel} // the partition stays full
			err := send(ctx, w, 100*(i+1))
			cancel()
			if i == 0 {
				continue // filled the partition
			}
			if !errors.Is(err, shard.ErrThrottled) || !slices.Equal(w.Refused(), []string{want}) {
				t.Errorf("call %d: error %v, observed %v; want ErrThrottled and %q throttled", i, err, w.Shown(), want)
			}
		}
		if got := d.entry(t, board, "all", "3", now); got.Player != "3" {
			t.Errorf("the entry of player 3 is %v: a probe overwrote it", got)
		}
	}
}
