package ddb_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// boards returns a process of its own that keeps leaderboards.
func (d *deployment) boards(client ddb.BoardClient, watch ddb.Watcher) *ddb.Leaderboards {
	return ddb.NewLeaderboards(client, d.names.Items, ddb.NewMap(d.client, d.names.ShardMap), watch, 48*time.Hour)
}

func (d *deployment) configure(t *testing.T, board string, s ddb.BoardSettings) {
	t.Helper()
	if err := d.boards(d.client, ddb.Unwatched{}).Configure(within(t), board, s); err != nil {
		t.Fatal(err)
	}
}

// scoresOf reads scores of players: "ann 5".
func scoresOf(t testing.TB, texts ...string) []ddb.PlayerScore {
	t.Helper()
	var list []ddb.PlayerScore
	for _, text := range texts {
		player, points, _ := strings.Cut(text, " ")
		list = append(list, ddb.PlayerScore{Player: player, Score: score(t, points)})
	}
	return list
}

func submit(t *testing.T, boards *ddb.Leaderboards, board string, now time.Time, texts ...string) {
	t.Helper()
	if err := errors.Join(boards.Submit(within(t), board, scoresOf(t, texts...), now)...); err != nil {
		t.Fatal(err)
	}
}

func (d *deployment) entry(t *testing.T, board, label, player string, now time.Time) ddb.Place {
	t.Helper()
	place, _, err := d.boards(d.client, ddb.Unwatched{}).Entry(within(t), board, label, player, now)
	if err != nil {
		t.Fatal(err)
	}
	return place
}

// TestFiveHundredScores of which many are of the same players, in three periods.
func TestFiveHundredScores(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.setShards(t, "L#big", "1:7")
	d.configure(t, "big", ddb.BoardSettings{Mode: ddb.Total, Periods: []ddb.Period{ddb.Weekly, ddb.AllTime, ddb.Daily}})
	boards, now := d.boards(d.client, ddb.Unwatched{}), later
	var texts []string
	sums := make([]int, lane.Runs(100, 400)) // by player
	for i := range 500 {
		texts = append(texts, fmt.Sprintf("p%03d %d", i%len(sums), i))
		sums[i%len(sums)] += i
	}
	highest, lowest := slices.Max(sums), slices.Min(sums)
	submit(t, boards, "big", now, texts...)
	for _, label := range []string{ddb.AllTime.Label(now), ddb.Daily.Label(now), ddb.Weekly.Label(now)} {
		top, err := boards.Top(within(t), "big", label, 1000, now)
		if err != nil || len(top) != len(sums) {
			t.Fatalf("%s: %d places, %v", label, len(top), err)
		}
		if top[0].Player != "p099" || top[0].Score.String() != fmt.Sprint(highest) || top[len(sums)-1].Score.String() != fmt.Sprint(lowest) {
			t.Errorf("%s: first %v, last %v", label, top[0], top[len(sums)-1])
		}
		if n, more, err := boards.Count(within(t), "big", label, "", "", 1000, now); n != len(sums) || more || err != nil {
			t.Errorf("%s: count %d, more %v, %v", label, n, more, err)
		}
	}
}

// TestEntriesMoveWithTheirNextWrite to the write shard of the newest count, at
// once when that changed while a write was waiting.
func TestEntriesMoveWithTheirNextWrite(t *testing.T) {
	d := deploy(t)
	boards, now := ddb.NewLeaderboards(d.client, d.names.Items, d.shards, ddb.Unwatched{}, 48*time.Hour), later
	submit(t, boards, "b", now, "ann 1", "bob 1", "cid 1")
	d.pin(t, "L#b", 50, now)
	now = now.Add(4 * time.Second)
	if _, err := d.shards.Lookup(within(t), "L#b", now); err != nil { // writers don't wait long for a view
		t.Fatal(err)
	}
	submit(t, boards, "b", now, "ann 2", "bob 1")
	for player, n := range map[string]int{"ann": shard.Calculated("ann", 50), "bob": 0, "cid": 0} {
		it := d.item(t, "L#b#all#"+player, "b")
		if got := it["board_shard"].(*types.AttributeValueMemberS).Value; got != schema.BoardShardKey("b", "all", n) {
			t.Errorf("%s is in %s, want write shard %d", player, got, n)
		}
	}
	top, err := boards.Top(within(t), "b", "all", 10, now)
	if err != nil || len(top) != 3 || top[0].Player != "ann" || top[1].Player != "bob" {
		t.Errorf("top %v, %v", top, err)
	}
}

func (d *deployment) item(t *testing.T, pk, sk string) map[string]types.AttributeValue {
	t.Helper()
	out, err := d.client.GetItem(within(t), &dynamodb.GetItemInput{TableName: &d.names.Items, Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

func TestTheStoredForm(t *testing.T) {
	d := deploy(t)
	d.configure(t, "b", ddb.BoardSettings{Periods: []ddb.Period{ddb.Daily, ddb.AllTime}})
	now := time.Date(2126, 1, 5, 23, 59, 59, 999_900_000, time.UTC)
	submit(t, d.boards(d.client, ddb.Unwatched{}), "b", now, "a#n 12.50")
	it := d.item(t, "L#b#2126-01-05#a#n", "b")
	want := map[string]string{
		"pk": "L#b#2126-01-05#a#n", "sk": "b", "score": "12.5", "at": fmt.Sprint(now.UnixMilli()), "rev": fmt.Sprint(now.UnixMicro()),
		"board_shard": "L#b#2126-01-05#0", "expires_at": fmt.Sprint(time.Date(2126, 1, 8, 0, 0, 0, 0, time.UTC).Unix()),
		"rank_key": schema.Place{Player: "a#n", Score: score(t, "12.5"), At: now}.RankKey(),
	}
	for name, text := range want {
		got := ""
		switch v := it[name].(type) {
		case *types.AttributeValueMemberS:
			got = v.Value
		case *types.AttributeValueMemberN:
			got = v.Value
		}
		if name == "rev" && len(got) == len(text) && got >= text {
			continue // the first rev is a moment after now
		}
		if got != text {
			t.Errorf("%s is %q, want %q", name, got, text)
		}
	}
	if len(it) != len(want) || d.item(t, "L#b#all#a#n", "b")["expires_at"] != nil {
		t.Errorf("got %v", it)
	}
}

func TestSettings(t *testing.T) {
	d := deploy(t)
	boards, now := d.boards(d.client, ddb.Unwatched{}), later
	s, err := boards.Settings(within(t), "b", now)
	if err != nil || s.Mode != ddb.Best || s.Size != 100 || fmt.Sprint(s.Periods) != "[all]" {
		t.Fatalf("of a board that was never configured: %+v, %v", s, err)
	}
	for _, bad := range []ddb.BoardSettings{{Mode: "worst"}, {Size: 1001}, {Size: -1}, {Periods: []ddb.Period{"month"}}} {
		if err := boards.Configure(within(t), "b", bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	all := []ddb.Period{ddb.Weekly, ddb.Daily, ddb.AllTime, ddb.Daily}
	for _, mode := range []ddb.Mode{ddb.Latest, ddb.Total} {
		if err := boards.Configure(within(t), "b", ddb.BoardSettings{Mode: mode, Size: 5, Periods: all}); err != nil {
			t.Fatalf("without a score: %v", err)
		}
	}
	if s, err = boards.Settings(within(t), "b", now); err != nil || s.Mode != ddb.Total || s.Size != 5 || fmt.Sprint(s.Periods) != "[all day week]" {
		t.Fatalf("got %+v, %v", s, err)
	}
	submit(t, boards, "b", now, "ann 1")
	if err := boards.Configure(within(t), "b", ddb.BoardSettings{Mode: ddb.Best}); !errors.Is(err, ddb.ErrModeSettled) {
		t.Errorf("another mode after a score: %v", err)
	}
	if err := boards.Configure(within(t), "b", ddb.BoardSettings{Mode: ddb.Total, Size: 7}); err != nil {
		t.Errorf("another size after a score: %v", err)
	}
}

// TestNoProcessWritesUnderAnOldMode: processes that know the board as it was send
// scores while another sets its mode.
func TestNoProcessWritesUnderAnOldMode(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now, settled := later, 0
	rounds := lane.Runs(8, 20)
	for round := range rounds {
		board := fmt.Sprint("b", round)
		var wg sync.WaitGroup
		var set error
		configure := func() {
			set = d.boards(d.client, ddb.Unwatched{}).Configure(within(t), board, ddb.BoardSettings{Mode: ddb.Total})
		}
		const writers = 4
		if round%2 == 0 {
			wg.Go(configure)
		}
		for i := range writers {
			boards := d.boards(d.client, ddb.Unwatched{})
			if _, err := boards.Settings(within(t), board, now); err != nil {
				t.Fatal(err)
			}
			wg.Go(func() { submit(t, boards, board, now.Add(time.Duration(i)*time.Millisecond), "ann 1") })
		}
		if round%2 == 1 {
			wg.Go(configure)
		}
		wg.Wait()
		want := fmt.Sprint(writers)
		if errors.Is(set, ddb.ErrModeSettled) {
			want = "1"
			settled++
		} else if set != nil {
			t.Fatal(set)
		}
		if got := d.entry(t, board, "all", "ann", now).Score.String(); got != want {
			t.Fatalf("round %d, configured: %v: score %s, want %s", round, set, got, want)
		}
	}
	t.Logf("the mode was settled by scores first in %d of %d rounds", settled, rounds)
}

func TestSumsOutOfRangeAreRefusedAlone(t *testing.T) {
	d := deploy(t)
	d.configure(t, "b", ddb.BoardSettings{Mode: ddb.Total, Periods: []ddb.Period{ddb.AllTime, ddb.Daily}})
	boards, now := d.boards(d.client, ddb.Unwatched{}), later
	const high = "999999999999999999"
	submit(t, boards, "b", now.Add(-24*time.Hour), "ann "+high)
	errs := boards.Submit(within(t), "b", scoresOf(t, "ann 1", "bob 2", "cid "+high, "cid 1", "dan -5"), now)
	for i, refused := range []bool{true, false, true, true, false} {
		if errors.Is(errs[i], ddb.ErrScoreRange) != refused || !refused && errs[i] != nil {
			t.Errorf("score %d: %v", i, errs[i])
		}
	}
	if _, _, err := boards.Entry(within(t), "b", ddb.Daily.Label(now), "ann", now); !errors.Is(err, ddb.ErrNotFound) {
		t.Errorf("one period of a refused score was written: %v", err)
	}
	if _, err := boards.SubmitTransact(within(t), "b", scoresOf(t, "ann 1", "bob 2"), now, now); !errors.Is(err, ddb.ErrScoreRange) {
		t.Errorf("as a transaction: %v", err)
	}
}

func TestSlowProcessesUndoNothing(t *testing.T) {
	d := deploy(t)
	now := later.Truncate(time.Millisecond)
	d.configure(t, "latest", ddb.BoardSettings{Mode: ddb.Latest})
	d.configure(t, "total", ddb.BoardSettings{Mode: ddb.Total})
	for board, want := range map[string]string{"latest": "2", "total": "3"} {
		submit(t, d.boards(d.client, ddb.Unwatched{}), board, now, "ann 2")
		submit(t, d.boards(d.client, ddb.Unwatched{}), board, now.Add(-time.Second), "ann 1")
		if got := d.entry(t, board, "all", "ann", now); got.Score.String() != want || !got.At.Equal(now) {
			t.Errorf("%s: %v, want %s at %v", board, got, want, now)
		}
	}
}

// TestRevsRise also over removals, in the order of the writes.
func TestRevsRise(t *testing.T) {
	d := deploy(t)
	boards, last := d.boards(d.client, ddb.Unwatched{}), int64(0)
	for i := range 6 {
		now := later.Add(time.Duration(i) * time.Second)
		if i%2 == 0 {
			if err := boards.Remove(within(t), "b", "ann", now); err != nil {
				t.Fatal(err)
			}
		}
		submit(t, boards, "b", now, fmt.Sprint("ann ", i))
		_, rev, err := boards.Entry(within(t), "b", "all", "ann", now)
		if err != nil || rev <= last {
			t.Fatalf("rev %d after %d, %v", rev, last, err)
		}
		last = rev
	}
}
