package boards_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
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

// remove deletes a player's entries of the periods at now.
func (d *deployment) remove(t enginetest.TB, board, player string, now time.Time) {
	for _, p := range boards.Periods() {
		pk, sk := schema.EntryKey(board, p.Label(now), player)
		enginetest.Delete(t, d.Client, d.Names.Items, pk, sk)
	}
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

// TestNoProcessWritesUnderAnOldMode checks that processes with cached settings write nothing by the old mode while
// another process sets a new one.
func TestNoProcessWritesUnderAnOldMode(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := libtest.Later
	for round := range require.Runs(require.UnlessQuick(8, 4), 20) {
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

// TestRevsRise checks that revs rise in the order of the writes, also after removals.
func TestRevsRise(t *testing.T) {
	d := deploy(t)
	boards, last := d.boards(d.Client, nil), int64(0)
	for i := range 6 {
		now := libtest.Later.Add(time.Duration(i) * time.Second)
		if i%2 == 0 {
			d.remove(t, "b", "ann", now)
		}
		submit(t, boards, "b", now, fmt.Sprint("ann ", i))
		held, err := boards.Entry(libtest.Within(t), "b", "all", "ann", now)
		if err != nil || held.Rev <= last {
			t.Fatalf("write %d: rev %d after rev %d, %v", i, held.Rev, last, err)
		}
		last = held.Rev
	}
}
