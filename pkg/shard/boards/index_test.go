package boards_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// behind is a client whose index lags: it returns old rows of changed entries and lacks rows of new ones.
type behind struct {
	*dynamodb.Client
	old     []map[string]types.AttributeValue // returned beside the current rows
	missing string                            // a player whose newest rows are not returned
	newest  int64                             // the first rev of the missing rows
}

func (b *behind) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	whole := *in
	whole.Limit = nil // one page has all rows
	out, err := b.Client.Query(ctx, &whole, o...)
	if err != nil {
		return nil, err
	}
	str := func(v types.AttributeValue) string { return v.(*types.AttributeValueMemberS).Value }
	v := in.ExpressionAttributeValues
	for _, it := range b.old {
		key := str(it["rank_key"])
		if str(it["board_shard"]) == str(v[":shard"]) && str(v[":low"]) <= key && key <= str(v[":high"]) {
			out.Items = append(out.Items, it)
		}
	}
	out.Items = slices.DeleteFunc(out.Items, func(it map[string]types.AttributeValue) bool {
		rev := it["row_rev"].(*types.AttributeValueMemberN).Value
		return b.missing != "" && strings.HasSuffix(str(it["rank_key"]), "#"+b.missing) && rev >= fmt.Sprint(b.newest)
	})
	slices.SortFunc(out.Items, func(x, y map[string]types.AttributeValue) int {
		return strings.Compare(str(x["rank_key"]), str(y["rank_key"]))
	})
	if !*in.ScanIndexForward {
		slices.Reverse(out.Items)
	}
	return out, nil
}

// players lists players and scores: "ann 5, bob 4".
func players(list []boards.Place) string {
	var names []string
	for _, p := range list {
		names = append(names, p.Player+" "+p.Score.String())
	}
	return strings.Join(names, ", ")
}

// TestLaggingIndex checks that reads return the newer one of an entry's two rows, in both directions and across write
// shards.
func TestLaggingIndex(t *testing.T) {
	d := deploy(t)
	d.configure(t, "b", boards.Settings{Mode: boards.Latest})
	d.SetShards(t, "L#b", "1:3")
	client := &behind{Client: d.Client}
	rankings, now := d.boards(client, nil), libtest.Later
	submit(t, rankings, "b", now, "ann 90", "bob 80", "cid 70", "dan 60", "eve 50", "fay 40")
	client.old = append(client.old, d.Item(t, "L#b#all#ann", "b"), d.Item(t, "L#b#all#fay", "b"))
	client.old[0]["board_shard"] = &types.AttributeValueMemberS{Value: schema.BoardShardKey("b", "all", 2)}
	now = now.Add(time.Second)
	submit(t, rankings, "b", now, "ann 55", "fay 85")
	for n, want := range map[int]string{
		6: "fay 85, bob 80, cid 70, dan 60, ann 55, eve 50",
		3: "ann 90, fay 85, bob 80", // the newer row of ann is not read
	} {
		if top, err := rankings.Top(libtest.Within(t), "b", "all", n, now); err != nil || players(top) != want {
			t.Errorf("top %d: %s, %v; want %s", n, players(top), err, want)
		}
	}
	dan := d.entry(t, "b", "all", "dan", now)
	above, below, err := rankings.Around(libtest.Within(t), "b", "all", dan, 3, now)
	if err != nil || players(above) != "fay 85, bob 80, cid 70" || players(below) != "ann 55, eve 50" {
		t.Errorf("Around dan = %s; %s; %v", players(above), players(below), err)
	}
	if n, _, err := rankings.Count(libtest.Within(t), "b", "all", "", "", 100, now); n != 6 || err != nil {
		t.Errorf("Count = %d, %v; want 6", n, err)
	}
	fay, err := rankings.Entry(libtest.Within(t), "b", "all", "fay", now)
	if err != nil {
		t.Fatal(err)
	}
	client.missing, client.newest = "fay", fay.Rev
	if top, err := rankings.Top(libtest.Within(t), "b", "all", 9, now); err != nil || players(top) != "bob 80, cid 70, dan 60, ann 55, eve 50, fay 40" {
		t.Errorf("Top without the newest row of fay = %s, %v", players(top), err)
	}
}
