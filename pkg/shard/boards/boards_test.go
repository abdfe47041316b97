package boards_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// boards returns Boards with their own caches, like another process.
func (d *deployment) boards(client boards.Client, o shard.Observer) *boards.Boards {
	return boards.New(client, d.Names.Items, shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}), boards.Options{Observer: o, Retention: 48 * time.Hour})
}

// deferring returns Boards that defer rows which the index throttles.
func (d *deployment) deferring(client boards.Client, o shard.Observer) *boards.Boards {
	return boards.New(client, d.Names.Items, shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}), boards.Options{Observer: o, Retention: 48 * time.Hour, DeferRows: true})
}

func (d *deployment) configure(t *testing.T, board string, s boards.Settings) {
	t.Helper()
	require.NoError(t, d.boards(d.Client, nil).Configure(libtest.Within(t), board, s))
}

// scoresOf parses scores such as "ann 5".
func scoresOf(t testing.TB, texts ...string) []boards.PlayerScore {
	t.Helper()
	var list []boards.PlayerScore
	for _, text := range texts {
		player, points, _ := strings.Cut(text, " ")
		list = append(list, boards.PlayerScore{Player: player, Score: score(t, points)})
	}
	return list
}

func submit(t *testing.T, rankings *boards.Boards, board string, now time.Time, texts ...string) {
	t.Helper()
	require.NoError(t, errors.Join(rankings.Submit(libtest.Within(t), board, scoresOf(t, texts...), now)...))
}

func (d *deployment) entry(t *testing.T, board, label, player string, now time.Time) boards.Place {
	t.Helper()
	held, err := d.boards(d.Client, nil).Entry(libtest.Within(t), board, label, player, now)
	require.NoError(t, err)
	return held.Place
}

// TestFiveHundredScoresOfOneCall checks sums, places and counts in three periods after a call with 500 scores.
func TestFiveHundredScoresOfOneCall(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.SetShards(t, "L#big", "1:7")
	d.configure(t, "big", boards.Settings{Mode: boards.Total, Periods: []boards.Period{boards.Weekly, boards.AllTime, boards.Daily}})
	rankings, now := d.boards(d.Client, nil), libtest.Later
	var texts []string
	sums := make([]int, lane.Runs(100, 400)) // by player
	for i := range 500 {
		texts = append(texts, fmt.Sprintf("p%03d %d", i%len(sums), i))
		sums[i%len(sums)] += i
	}
	highest, lowest := slices.Max(sums), slices.Min(sums)
	submit(t, rankings, "big", now, texts...)
	for _, label := range []string{boards.AllTime.Label(now), boards.Daily.Label(now), boards.Weekly.Label(now)} {
		top, err := rankings.Top(libtest.Within(t), "big", label, 1000, now)
		if err != nil || len(top) != len(sums) {
			t.Fatalf("%s: %d places, %v; want %d", label, len(top), err, len(sums))
		}
		if top[0].Player != "p099" || top[0].Score.String() != fmt.Sprint(highest) || top[len(sums)-1].Score.String() != fmt.Sprint(lowest) {
			t.Errorf("%s: first %v, last %v; want p099 with %d, and %d", label, top[0], top[len(sums)-1], highest, lowest)
		}
		if n, more, err := rankings.Count(libtest.Within(t), "big", label, "", "", 1000, now); n != len(sums) || more || err != nil {
			t.Errorf("%s: Count = %d, more %v, %v; want %d", label, n, more, err, len(sums))
		}
	}
}

// TestEntriesMoveWithTheirNextWrite checks that a write moves its entry to the write shard of the newest count. Entries
// without a write stay.
func TestEntriesMoveWithTheirNextWrite(t *testing.T) {
	d := deploy(t)
	rankings, now := boards.New(d.Client, d.Names.Items, d.Shards, boards.Options{Retention: 48 * time.Hour}), libtest.Later
	submit(t, rankings, "b", now, "ann 1", "bob 1", "cid 1")
	d.Pin(t, "L#b", 50, now)
	now = now.Add(4 * time.Second)
	if _, err := d.Shards.Lookup(libtest.Within(t), "L#b", now); err != nil { // writers don't wait for a load
		t.Fatal(err)
	}
	submit(t, rankings, "b", now, "ann 2", "bob 1")
	for player, n := range map[string]int{"ann": shard.Calculated("ann", 50), "bob": 0, "cid": 0} {
		it := d.Item(t, "L#b#all#"+player, "b")
		if got := it["board_shard"].(*types.AttributeValueMemberS).Value; got != schema.BoardShardKey("b", "all", n) {
			t.Errorf("%s is in %s, want write shard %d", player, got, n)
		}
	}
	top, err := rankings.Top(libtest.Within(t), "b", "all", 10, now)
	if err != nil || len(top) != 3 || top[0].Player != "ann" || top[1].Player != "bob" {
		t.Errorf("Top = %v, %v; want ann, bob and cid", top, err)
	}
}

// TestTheStoredForm checks the attributes of an entry.
func TestTheStoredForm(t *testing.T) {
	d := deploy(t)
	d.configure(t, "b", boards.Settings{Periods: []boards.Period{boards.Daily, boards.AllTime}})
	now := time.Date(2126, 1, 5, 23, 59, 59, 999_900_000, time.UTC)
	submit(t, d.boards(d.Client, nil), "b", now, "a#n 12.50")
	it := d.Item(t, "L#b#2126-01-05#a#n", "b")
	want := map[string]string{
		"pk": "L#b#2126-01-05#a#n", "sk": "b", "score": "12.5", "at": fmt.Sprint(now.UnixMilli()), "rev": fmt.Sprint(now.UnixMicro()),
		"board_shard": "L#b#2126-01-05#0", "expires_at": fmt.Sprint(time.Date(2126, 1, 8, 0, 0, 0, 0, time.UTC).Unix()),
		"rank_key": boards.Place{Player: "a#n", Score: score(t, "12.5"), At: now}.RankKey(),
		"row_rev":  fmt.Sprint(now.UnixMicro()),
	}
	for name, text := range want {
		got := ""
		switch v := it[name].(type) {
		case *types.AttributeValueMemberS:
			got = v.Value
		case *types.AttributeValueMemberN:
			got = v.Value
		}
		if strings.HasSuffix(name, "rev") && len(got) == len(text) && got >= text {
			continue // the first rev is a moment after now
		}
		if got != text {
			t.Errorf("%s is %q, want %q", name, got, text)
		}
	}
	if len(it) != len(want) || d.Item(t, "L#b#all#a#n", "b")["expires_at"] != nil {
		t.Errorf("the item is %v, want the attributes %v; an entry for all time must not expire", it, want)
	}
}

// TestSettings checks defaults and bounds of settings, and that the first score fixes the mode.
func TestSettings(t *testing.T) {
	d := deploy(t)
	rankings, now := d.boards(d.Client, nil), libtest.Later
	s, err := rankings.Settings(libtest.Within(t), "b", now)
	if err != nil || s.Mode != boards.Best || s.Size != 100 || fmt.Sprint(s.Periods) != "[all]" {
		t.Fatalf("a board without settings: %+v, %v; want the defaults", s, err)
	}
	for _, bad := range []boards.Settings{{Mode: "worst"}, {Size: 1001}, {Size: -1}, {Periods: []boards.Period{"month"}}} {
		if err := rankings.Configure(libtest.Within(t), "b", bad); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%+v: error %v, want ErrMisused", bad, err)
		}
	}
	all := []boards.Period{boards.Weekly, boards.Daily, boards.AllTime, boards.Daily}
	for _, mode := range []boards.Mode{boards.Latest, boards.Total} {
		if err := rankings.Configure(libtest.Within(t), "b", boards.Settings{Mode: mode, Size: 5, Periods: all}); err != nil {
			t.Fatalf("another mode before the first score: %v", err)
		}
	}
	if s, err = rankings.Settings(libtest.Within(t), "b", now); err != nil || s.Mode != boards.Total || s.Size != 5 || fmt.Sprint(s.Periods) != "[all day week]" {
		t.Fatalf("Settings = %+v, %v; want total, 5, [all day week]", s, err)
	}
	submit(t, rankings, "b", now, "ann 1")
	if err := rankings.Configure(libtest.Within(t), "b", boards.Settings{Mode: boards.Best}); !errors.Is(err, boards.ErrModeFixed) {
		t.Errorf("another mode after a score: error %v, want ErrModeFixed", err)
	}
	if err := rankings.Configure(libtest.Within(t), "b", boards.Settings{Mode: boards.Total, Size: 7}); err != nil {
		t.Errorf("another size after a score: %v", err)
	}
}

// TestNoProcessWritesUnderAnOldMode checks that processes with cached settings write nothing by the old mode while
// another process sets a new one.
func TestNoProcessWritesUnderAnOldMode(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := libtest.Later
	for round := range lane.Runs(8, 20) {
		board := fmt.Sprint("b", round)
		var wg sync.WaitGroup
		var set error
		configure := func() {
			set = d.boards(d.Client, nil).Configure(libtest.Within(t), board, boards.Settings{Mode: boards.Total})
		}
		const writers = 4
		if round%2 == 0 {
			wg.Go(configure)
		}
		for i := range writers {
			rankings := d.boards(d.Client, nil)
			if _, err := rankings.Settings(libtest.Within(t), board, now); err != nil {
				t.Fatal(err)
			}
			wg.Go(func() { submit(t, rankings, board, now.Add(time.Duration(i)*time.Millisecond), "ann 1") })
		}
		if round%2 == 1 {
			wg.Go(configure)
		}
		wg.Wait()
		want := fmt.Sprint(writers)
		if errors.Is(set, boards.ErrModeFixed) {
			want = "1"
		} else if set != nil {
			t.Fatal(set)
		}
		if got := d.entry(t, board, "all", "ann", now).Score.String(); got != want {
			t.Fatalf("round %d, Configure returned %v: score %s, want %s", round, set, got, want)
		}
	}
}

// TestSumsOutOfRangeAreRejected checks that a sum out of range rejects the scores of its player in all periods, and no
// other player's.
func TestSumsOutOfRangeAreRejected(t *testing.T) {
	d := deploy(t)
	d.configure(t, "b", boards.Settings{Mode: boards.Total, Periods: []boards.Period{boards.AllTime, boards.Daily}})
	rankings, now := d.boards(d.Client, nil), libtest.Later
	const high = "999999999999999999"
	submit(t, rankings, "b", now.Add(-24*time.Hour), "ann "+high)
	errs := rankings.Submit(libtest.Within(t), "b", scoresOf(t, "ann 1", "bob 2", "cid "+high, "cid 1", "dan -5"), now)
	for i, rejected := range []bool{true, false, true, true, false} {
		if errors.Is(errs[i], boards.ErrScoreRange) != rejected || !rejected && errs[i] != nil {
			t.Errorf("score %d: error %v, want ErrScoreRange: %t", i, errs[i], rejected)
		}
	}
	if _, err := rankings.Entry(libtest.Within(t), "b", boards.Daily.Label(now), "ann", now); !errors.Is(err, shard.ErrNotFound) {
		t.Errorf("the daily entry of a rejected score: error %v, want ErrNotFound", err)
	}
	if _, err := rankings.SubmitTransact(libtest.Within(t), "b", scoresOf(t, "ann 1", "bob 2"), now, now); !errors.Is(err, boards.ErrScoreRange) {
		t.Errorf("SubmitTransact: error %v, want ErrScoreRange", err)
	}
}

// TestSlowProcessesUndoNothing checks that an older write neither replaces the latest score nor lowers an entry's time.
func TestSlowProcessesUndoNothing(t *testing.T) {
	d := deploy(t)
	now := libtest.Later.Truncate(time.Millisecond)
	d.configure(t, "latest", boards.Settings{Mode: boards.Latest})
	d.configure(t, "total", boards.Settings{Mode: boards.Total})
	for board, want := range map[string]string{"latest": "2", "total": "3"} {
		submit(t, d.boards(d.Client, nil), board, now, "ann 2")
		submit(t, d.boards(d.Client, nil), board, now.Add(-time.Second), "ann 1")
		if got := d.entry(t, board, "all", "ann", now); got.Score.String() != want || !got.At.Equal(now) {
			t.Errorf("%s: %v, want %s at %v", board, got, want, now)
		}
	}
}

// TestRevsRise checks that revs rise in the order of the writes, also after removals.
func TestRevsRise(t *testing.T) {
	d := deploy(t)
	boards, last := d.boards(d.Client, nil), int64(0)
	for i := range 6 {
		now := libtest.Later.Add(time.Duration(i) * time.Second)
		if i%2 == 0 {
			require.NoError(t, boards.Remove(libtest.Within(t), "b", "ann", now))
		}
		submit(t, boards, "b", now, fmt.Sprint("ann ", i))
		held, err := boards.Entry(libtest.Within(t), "b", "all", "ann", now)
		if err != nil || held.Rev <= last {
			t.Fatalf("write %d: rev %d after rev %d, %v", i, held.Rev, last, err)
		}
		last = held.Rev
	}
}
