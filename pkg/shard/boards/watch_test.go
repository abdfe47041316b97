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

	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestTheWatcherLearnsOfTheIndex: of its throttles, and no others.
func TestTheWatcherLearnsOfTheIndex(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.SetShards(t, "L#b#2", "1:9")
	d.configure(t, "b#2", boards.Settings{Mode: boards.Latest, Periods: []boards.Period{boards.AllTime, boards.Daily, boards.Weekly}})
	now := wingtest.Later
	ann := fmt.Sprintf("L#b#2 %d", shard.Calculated("ann", 9))
	for _, c := range []struct {
		reasons  []string
		scores   []string
		attempts int
		refused  []string
	}{
		{nil, []string{"ann 1", "ann 2"}, 3, nil},
		{nil, []string{"ann 3", "bob 1"}, 6, nil},
		{[]string{wingtest.TableHot}, []string{"ann 4"}, 3, nil}, // one player's own item
		{[]string{wingtest.IndexHot}, []string{"ann 5"}, 6, []string{ann}},
		{[]string{wingtest.TableHot, wingtest.IndexHot}, []string{"ann 6"}, 6, []string{ann}},
		{[]string{"IndexWriteMaxOnDemandThroughputExceeded"}, []string{"ann 7"}, 3, nil},
	} {
		w, left := wingtest.NewWatched(), 4
		client := &wingtest.Flaky{Client: d.Client, Before: func() error {
			if left--; len(c.reasons) > 0 && left > 0 {
				return wingtest.Hot(c.reasons...)
			}
			return nil
		}}
		now = now.Add(time.Second)
		view := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
		if _, err := view.Lookup(wingtest.Within(t), "L#b#2", now); err != nil { // writers don't wait long for a view
			t.Fatal(err)
		}
		submit(t, boards.New(client, d.Names.Items, view, boards.Options{Watch: w, Retention: 48 * time.Hour}), "b#2", now, c.scores...)
		if w.ByKey["L#b#2"] != 1 || len(w.ByKey) != 1 || len(w.Attempts) != c.attempts {
			t.Errorf("%v: requests %v, %d attempts, want %d", c.scores, w.ByKey, len(w.Attempts), c.attempts)
		}
		if got := w.Refused(); !slices.Equal(got, c.refused) || slices.Contains(w.Told(), "an attempt of no request") {
			t.Errorf("%v: told of %v, want %v refused", c.reasons, w.Told(), c.refused)
		}
	}
}

// TestRemovalsAreHeatToo, in each period.
func TestRemovalsAreHeatToo(t *testing.T) {
	d := deploy(t)
	w, left := wingtest.NewWatched(), 4
	client := &wingtest.Flaky{Client: d.Client, Before: func() error {
		if left--; left > 0 {
			return wingtest.Hot(wingtest.IndexHot)
		}
		return nil
	}}
	submit(t, d.boards(d.Client, w), "b", wingtest.Later, "ann 1")
	if err := d.boards(client, w).Remove(wingtest.Within(t), "b", "ann", wingtest.Later); err != nil {
		t.Fatal(err)
	}
	want := []string{"L#b 0 over its limit by 0", "L#b 0 taken by 0"}
	if w.ByKey["L#b"] != 1+3 || len(w.Attempts) != 1+2*3 || !slices.Equal(w.Told(), want) || len(d.Item(t, "L#b#all#ann", "b")) > 0 {
		t.Errorf("requests %v, attempts %v", w.ByKey, w.Attempts)
	}
}

// crowded is a client whose index has one full partition.
type crowded struct {
	*dynamodb.Client
	full string
}

func (c *crowded) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if place, ok := in.Item["board_shard"].(*types.AttributeValueMemberS); ok && place.Value == c.full {
		return nil, wingtest.Hot(wingtest.IndexHot)
	}
	return c.Client.PutItem(ctx, in, o...)
}

// acting is a watcher that does something when it hears of a refusal.
type acting struct {
	*wingtest.Watched
	act func()
}

func (w *acting) Attempted(ctx context.Context, a shardmap.Attempt) {
	w.Watched.Attempted(ctx, a)
	if a.Outcome != shardmap.Taken {
		w.act()
	}
}

// TestAWaitingWriteGoesWhereTheBoardGrew, without a new call.
func TestAWaitingWriteGoesWhereTheBoardGrew(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	grown := sync.OnceFunc(func() {
		if _, err := d.Changer(shardmap.ChangerOptions{}).Grow(t.Context(), "L#b", 50, wingtest.Note, wingtest.Later); err != nil {
			t.Error(err)
		}
	})
	w := &acting{wingtest.NewWatched(), grown}
	boards := d.boards(&crowded{d.Client, schema.BoardShardKey("b", "all", 0)}, w)
	submit(t, boards, "b", wingtest.Later, "ann 1", "bob 1")
	for _, player := range []string{"ann", "bob"} {
		want := schema.BoardShardKey("b", "all", shard.Calculated(player, 50))
		if got := d.Item(t, "L#b#all#"+player, "b")["board_shard"].(*types.AttributeValueMemberS).Value; got != want {
			t.Errorf("%s is in %s, want %s", player, got, want)
		}
	}
	if !slices.Equal(w.Refused(), []string{"L#b 0"}) || w.ByKey["L#b"] != 1 {
		t.Errorf("told of %v, %v", w.Told(), w.ByKey)
	}
}

// TestWhatChangesNothingIsNotTold, and costs no write.
func TestWhatChangesNothingIsNotTold(t *testing.T) {
	d := deploy(t)
	now := wingtest.Later
	d.configure(t, "total", boards.Settings{Mode: boards.Total})
	for board, points := range map[string]string{"best": "1", "total": "0"} {
		submit(t, d.boards(d.Client, nil), board, now, "ann 1")
		w := wingtest.NewWatched()
		client := &wingtest.Flaky{Client: d.Client, Before: func() error { t.Errorf("%s: a write", board); return nil }}
		submit(t, d.boards(client, w), board, now.Add(time.Second), "ann "+points)
		if len(w.ByKey) > 0 || len(w.Attempts) > 0 {
			t.Errorf("%s: told of %v, %v", board, w.ByKey, w.Told())
		}
	}
}

// TestAHotIndexIsToldByScoresWithAndWithoutKeys: behind a limiter whose clock
// stands still, a board's only index partition is full. The names are such as
// could pass for other keys.
func TestAHotIndexIsToldByScoresWithAndWithoutKeys(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := wingtest.Later
	for _, board := range []string{"b", schema.ProbeSK} {
		client, _ := d.Limited(t, limiter.Options{
			Partitions: 64, PartitionWCU: 5, PartitionRCU: 1000, Now: func() time.Time { return now },
		})
		submit(t, d.boards(d.Client, nil), board, now, "3 1", "7 1")
		rise := func(to int) (scores []boards.PlayerScore) {
			for i := range 30 {
				scores = append(scores, boards.PlayerScore{Player: fmt.Sprint(i), Score: score(t, fmt.Sprint(to+i))})
			}
			return scores
		}
		unkeyed := func(ctx context.Context, w shardmap.Watcher, to int) error {
			return errors.Join(d.boards(client, w).Submit(ctx, board, rise(to), now)...)
		}
		keyed := func(ctx context.Context, w shardmap.Watcher, to int) error {
			actions := func(ctx context.Context) ([]types.TransactWriteItem, error) {
				return d.boards(client, w).SubmitTransact(ctx, board, rise(to)[7:8], now, now)
			}
			call := once.Call{Key: board, Digest: []byte("d"), Answer: []byte("a")}
			_, err := once.New(client, d.Names.Items, d.Shards, once.Options{Watch: w}).Do(ctx, call, now, actions)
			return err
		}
		want := fmt.Sprintf("L#%s 0", board)
		for i, send := range []func(context.Context, shardmap.Watcher, int) error{unkeyed, unkeyed, keyed} {
			ctx, cancel := context.WithCancel(wingtest.Within(t))
			w := &acting{wingtest.NewWatched(), cancel} // nothing will be free again
			err := send(ctx, w, 100*(i+1))
			cancel()
			if i == 0 {
				continue // that was to fill the partition
			}
			if !errors.Is(err, shard.ErrThrottled) || !slices.Equal(w.Refused(), []string{want}) {
				t.Errorf("send %d: %v, told of %v; want %q refused", i, err, w.Told(), want)
			}
		}
		if got := d.entry(t, board, "all", "3", now); got.Player != "3" {
			t.Errorf("a probe took an entry's place: %v", got)
		}
	}
}
