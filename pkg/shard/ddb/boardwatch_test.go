package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// watched is what a watcher was told.
type watched struct {
	mu        sync.Mutex
	requested map[string]int // by key
	requests  map[uint64]int // by ID
	attempts  []ddb.Attempt
}

func newWatched() *watched { return &watched{requested: map[string]int{}, requests: map[uint64]int{}} }

func (w *watched) Requested(r ddb.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requested[r.Key]++
	w.requests[r.ID]++
}

func (w *watched) Attempted(_ context.Context, a ddb.Attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempts = append(w.attempts, a)
}

// told lists what became of attempts on which write shards by which version, each once. An
// attempt of a request that was not told of before stands out.
func (w *watched) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, a := range w.attempts {
		outcome := map[ddb.Outcome]string{ddb.Taken: "taken", ddb.OverLimit: "over its limit", ddb.Conflicted: "in conflict"}[a.Outcome]
		list = append(list, fmt.Sprintf("%s %d %s by %d", a.Key, a.Shard, outcome, a.Entry.Version))
		if w.requests[a.Request] == 0 {
			list = append(list, "an attempt of no request")
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// refused lists the write shards that were over their limits or in conflict.
func (w *watched) refused() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, a := range w.attempts {
		if a.Outcome != ddb.Taken {
			list = append(list, fmt.Sprintf("%s %d", a.Key, a.Shard))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestTheWatcherLearnsOfTheIndex: of its throttles, and no others.
func TestTheWatcherLearnsOfTheIndex(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.setShards(t, "L#b#2", "1:9")
	d.configure(t, "b#2", ddb.BoardSettings{Mode: ddb.Latest, Periods: []ddb.Period{ddb.AllTime, ddb.Daily, ddb.Weekly}})
	now := later
	ann := fmt.Sprintf("L#b#2 %d", shard.Calculated("ann", 9))
	for _, c := range []struct {
		reasons  []string
		scores   []string
		attempts int
		refused  []string
	}{
		{nil, []string{"ann 1", "ann 2"}, 3, nil},
		{nil, []string{"ann 3", "bob 1"}, 6, nil},
		{[]string{tableHot}, []string{"ann 4"}, 3, nil}, // one player's own item
		{[]string{indexHot}, []string{"ann 5"}, 6, []string{ann}},
		{[]string{tableHot, indexHot}, []string{"ann 6"}, 6, []string{ann}},
		{[]string{"IndexWriteMaxOnDemandThroughputExceeded"}, []string{"ann 7"}, 3, nil},
	} {
		w, left := newWatched(), 4
		client := &flaky{Client: d.client, before: func() error {
			if left--; len(c.reasons) > 0 && left > 0 {
				return hot(c.reasons...)
			}
			return nil
		}}
		now = now.Add(time.Second)
		view := ddb.NewMap(d.client, d.names.ShardMap)
		if _, err := view.Lookup(within(t), "L#b#2", now); err != nil { // writers don't wait long for a view
			t.Fatal(err)
		}
		submit(t, ddb.NewLeaderboards(client, d.names.Items, view, w, 48*time.Hour), "b#2", now, c.scores...)
		if w.requested["L#b#2"] != 1 || len(w.requested) != 1 || len(w.attempts) != c.attempts {
			t.Errorf("%v: requests %v, %d attempts, want %d", c.scores, w.requested, len(w.attempts), c.attempts)
		}
		if got := w.refused(); !slices.Equal(got, c.refused) || slices.Contains(w.told(), "an attempt of no request") {
			t.Errorf("%v: told of %v, want %v refused", c.reasons, w.told(), c.refused)
		}
	}
}

// TestRemovalsAreHeatToo, in each period.
func TestRemovalsAreHeatToo(t *testing.T) {
	d := deploy(t)
	w, left := newWatched(), 4
	client := &flaky{Client: d.client, before: func() error {
		if left--; left > 0 {
			return hot(indexHot)
		}
		return nil
	}}
	submit(t, d.boards(d.client, w), "b", later, "ann 1")
	if err := d.boards(client, w).Remove(within(t), "b", "ann", later); err != nil {
		t.Fatal(err)
	}
	want := []string{"L#b 0 over its limit by 0", "L#b 0 taken by 0"}
	if w.requested["L#b"] != 1+3 || len(w.attempts) != 1+2*3 || !slices.Equal(w.told(), want) || len(d.item(t, "L#b#all#ann", "b")) > 0 {
		t.Errorf("requests %v, attempts %v", w.requested, w.attempts)
	}
}

// crowded is a client whose index has one full partition.
type crowded struct {
	*dynamodb.Client
	full string
}

func (c *crowded) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if place, ok := in.Item["board_shard"].(*types.AttributeValueMemberS); ok && place.Value == c.full {
		return nil, hot(indexHot)
	}
	return c.Client.PutItem(ctx, in, o...)
}

// acting is a watcher that does something when it hears of a refusal.
type acting struct {
	*watched
	act func()
}

func (w *acting) Attempted(ctx context.Context, a ddb.Attempt) {
	w.watched.Attempted(ctx, a)
	if a.Outcome != ddb.Taken {
		w.act()
	}
}

// TestAWaitingWriteGoesWhereTheBoardGrew, without a new call.
func TestAWaitingWriteGoesWhereTheBoardGrew(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	grown := sync.OnceFunc(func() {
		if _, err := d.changer(ddb.ChangerOptions{}).Grow(t.Context(), "L#b", 50, note, later); err != nil {
			t.Error(err)
		}
	})
	w := &acting{newWatched(), grown}
	boards := d.boards(&crowded{d.client, schema.BoardShardKey("b", "all", 0)}, w)
	submit(t, boards, "b", later, "ann 1", "bob 1")
	for _, player := range []string{"ann", "bob"} {
		want := schema.BoardShardKey("b", "all", shard.Calculated(player, 50))
		if got := d.item(t, "L#b#all#"+player, "b")["board_shard"].(*types.AttributeValueMemberS).Value; got != want {
			t.Errorf("%s is in %s, want %s", player, got, want)
		}
	}
	if !slices.Equal(w.refused(), []string{"L#b 0"}) || w.requested["L#b"] != 1 {
		t.Errorf("told of %v, %v", w.told(), w.requested)
	}
}

func TestThrottleScope(t *testing.T) {
	for _, c := range []struct {
		err  error
		want ddb.Scope
	}{
		{errors.New("other"), ddb.NotThrottled},
		{hot(), ddb.Unknown},
		{hot(tableHot), ddb.KeyRange},
		{hot(indexHot), ddb.IndexKeyRange},
		{hot(tableHot, indexHot, "TableWriteAccountLimitExceeded"), ddb.IndexKeyRange},
		{hot("IndexWriteMaxOnDemandThroughputExceeded", tableHot), ddb.KeyRange},
		{hot("IndexWriteProvisionedThroughputExceeded"), ddb.WholeTable},
		{hot("TableWriteAccountLimitExceeded"), ddb.WholeTable},
	} {
		if got := ddb.ThrottleScope(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

// TestWhatChangesNothingIsNotTold, and costs no write.
func TestWhatChangesNothingIsNotTold(t *testing.T) {
	d := deploy(t)
	now := later
	d.configure(t, "total", ddb.BoardSettings{Mode: ddb.Total})
	for board, points := range map[string]string{"best": "1", "total": "0"} {
		submit(t, d.boards(d.client, ddb.Unwatched{}), board, now, "ann 1")
		w := newWatched()
		client := &flaky{Client: d.client, before: func() error { t.Errorf("%s: a write", board); return nil }}
		submit(t, d.boards(client, w), board, now.Add(time.Second), "ann "+points)
		if len(w.requested) > 0 || len(w.attempts) > 0 {
			t.Errorf("%s: told of %v, %v", board, w.requested, w.told())
		}
	}
}

// limited returns a client whose calls a limiter counts and limits.
func (d *deployment) limited(t *testing.T, o limiter.Options) (*dynamodb.Client, *limiter.Limiter) {
	t.Helper()
	o.Base = local.Transport()
	limits, err := limiter.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return dynamodb.New(d.client.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limits} }), limits
}

// TestAHotIndexIsToldByScoresWithAndWithoutKeys: behind a limiter whose clock
// stands still, a board's only index partition is full. The names are such as
// could pass for other keys.
func TestAHotIndexIsToldByScoresWithAndWithoutKeys(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := later
	for _, board := range []string{"b", schema.ProbeSK} {
		client, _ := d.limited(t, limiter.Options{
			Partitions: 64, PartitionWCU: 5, PartitionRCU: 1000, Now: func() time.Time { return now },
		})
		submit(t, d.boards(d.client, ddb.Unwatched{}), board, now, "3 1", "7 1")
		rise := func(to int) (scores []ddb.PlayerScore) {
			for i := range 30 {
				scores = append(scores, ddb.PlayerScore{Player: fmt.Sprint(i), Score: score(t, fmt.Sprint(to+i))})
			}
			return scores
		}
		unkeyed := func(ctx context.Context, w ddb.Watcher, to int) error {
			return errors.Join(d.boards(client, w).Submit(ctx, board, rise(to), now)...)
		}
		keyed := func(ctx context.Context, w ddb.Watcher, to int) error {
			actions := func(ctx context.Context) ([]types.TransactWriteItem, error) {
				return d.boards(client, w).SubmitTransact(ctx, board, rise(to)[7:8], now, now)
			}
			call := ddb.Call{Key: board, Digest: []byte("d"), Answer: []byte("a")}
			_, err := ddb.NewOnce(client, d.names.Items, d.shards, w).Do(ctx, call, now, actions)
			return err
		}
		want := fmt.Sprintf("L#%s 0", board)
		for i, send := range []func(context.Context, ddb.Watcher, int) error{unkeyed, unkeyed, keyed} {
			ctx, cancel := context.WithCancel(within(t))
			w := &acting{newWatched(), cancel} // nothing will be free again
			err := send(ctx, w, 100*(i+1))
			cancel()
			if i == 0 {
				continue // that was to fill the partition
			}
			if !errors.Is(err, ddb.ErrThrottled) || !slices.Equal(w.refused(), []string{want}) {
				t.Errorf("send %d: %v, told of %v; want %q refused", i, err, w.told(), want)
			}
		}
		if got := d.entry(t, board, "all", "3", now); got.Player != "3" {
			t.Errorf("a probe took an entry's place: %v", got)
		}
	}
}
