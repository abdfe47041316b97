package heat

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

var start = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// coverAt returns the time some seconds after start.
func coverAt(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// TestCover checks from which series a time range is read.
func TestCover(t *testing.T) {
	folded := Progress{From: coverAt(60), To: coverAt(1920), Blocks: coverAt(1800)}
	for _, c := range []struct {
		from, to int
		step     time.Duration
		p        Progress
		want     string
	}{
		{0, 2000, 10 * time.Minute, folded, "prompt 0-60, minute 60-600, block 600-1800, minute 1800-1920, prompt 1920-2000"},
		{0, 2000, 10*time.Minute - 1, folded, "prompt 0-60, minute 60-1920, prompt 1920-2000"},
		{630, 640, time.Hour, folded, "minute 630-640"},
		{600, 1200, time.Hour, folded, "block 600-1200"},
		{601, 1200, time.Hour, folded, "minute 601-1200"},
		{0, 60, time.Hour, folded, "prompt 0-60"},
		{1930, 2000, time.Hour, folded, "prompt 1930-2000"},
		{0, 2000, time.Hour, Progress{}, "prompt 0-2000"},
		{5, 5, time.Hour, folded, ""},
		{6, 5, time.Hour, folded, ""},
	} {
		var texts []string
		for _, s := range cover(coverAt(c.from), coverAt(c.to), c.step, c.p) {
			texts = append(texts, fmt.Sprintf("%s %v-%v", []string{"prompt", "late", "minute", "block"}[s.series[0]], s.from.Sub(start).Seconds(), s.to.Sub(start).Seconds()))
		}
		if got := strings.Join(texts, ", "); got != c.want {
			t.Errorf("%d to %d by %v: %s, want %s", c.from, c.to, c.step, got, c.want)
		}
	}
}

// TestMissingMinutes checks that a missing minute, or a mark, is a window that can't be read.
func TestMissingMinutes(t *testing.T) {
	minute := func(second int, windows ...Item) dynamo.Item {
		return Minutes.Stored(&Span{Start: coverAt(second), Windows: windows}, coverAt(100))
	}
	it := Item{Start: coverAt(70), Window: 10 * time.Second, Base: 10 * time.Second, Limit: 1, HotRate: 1}
	for want, items := range map[string][]dynamo.Item{
		"30:0/1, 60:0/1, 120:0/1": {},
		"60:0/1, 120:0/1":         {minute(0)},
		"70:1/0, 120:0/1":         {minute(0), minute(60, it)},
		"30:0/1, 70:1/0":          {minute(60, it), minute(120)},
	} {
		if got := windowsOfFeed(&feed{pk: "pk", from: coverAt(30), to: coverAt(140), itemLength: time.Minute, nextItem: coverAt(0)}, [][]dynamo.Item{items}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// windowsOf returns the windows, by second, of one partition with these items in pages, read from one second to another.
func windowsOf(from, to int, pages ...[]dynamo.Item) string {
	return windowsOfFeed(&feed{pk: "pk", from: coverAt(from), to: coverAt(to)}, pages)
}

// windowsOfFeed returns the windows of a feed with these pages.
func windowsOfFeed(f *feed, pages [][]dynamo.Item) string {
	f.nextPage = func() (*dynamodb.QueryOutput, error) {
		page := &dynamodb.QueryOutput{Items: pages[0]}
		pages = pages[1:]
		if page.Items == nil {
			return nil, errors.New("broken")
		}
		page.LastEvaluatedKey = dynamo.Item{} // as some emulators answer with the last page
		if len(pages) > 0 {
			page.LastEvaluatedKey = dynamo.Key("pk", "sk")
		}
		return page, nil
	}
	var texts []string
	for {
		w, err := nextWindow([]*feed{f})
		switch {
		case err != nil:
			return strings.Join(append(texts, err.Error()), ", ")
		case w.Start.IsZero():
			return strings.Join(texts, ", ")
		}
		texts = append(texts, fmt.Sprintf("%v:%d/%d", w.Start.Sub(start).Seconds(), len(w.Items), len(w.Unreadable)))
	}
}

// coverWindow returns the stored item of a window of ten seconds.
func coverWindow(second int, part string) dynamo.Item {
	it := Item{Start: coverAt(second), Window: 10 * time.Second, StreamShard: "s", Part: part, Limit: 1, HotRate: 1}
	return it.Stored(coverAt(100))
}

// held returns the stored item of several windows.
func held(second, windows int) dynamo.Item {
	var items []Item
	for n := range windows {
		items = append(items, Item{Start: coverAt(second + 10*n), Window: 10 * time.Second, StreamShard: "s", Limit: 1, HotRate: 1})
	}
	return StoredHeld(items, coverAt(100))
}

// with returns an item with another attribute.
func with(it dynamo.Item, name string, value types.AttributeValue) dynamo.Item {
	it[name] = value
	return it
}

// TestFeed checks the windows of one partition, however its items are on pages.
func TestFeed(t *testing.T) {
	const bad = "x"
	damaged := func(second int) dynamo.Item { return with(coverWindow(second, ""), "windows", dynamo.String(bad)) }
	stray := coverWindow(900, "") // damaged, with a time outside the range
	windows := stray["windows"].(*types.AttributeValueMemberB).Value
	stray = with(with(stray, "sk", coverWindow(90, "")["sk"]), "windows", &types.AttributeValueMemberB{Value: windows[:len(windows)-1]})
	type pages = [][]dynamo.Item
	for _, c := range []struct {
		from, to int
		pages    pages
		want     string
	}{
		{0, 100, pages{{}}, ""},
		{0, 100, pages{{}, {coverWindow(0, "")}, {}}, "0:1/0"},
		{0, 100, pages{{coverWindow(0, ""), coverWindow(0, "b")}, {coverWindow(10, "")}}, "0:2/0, 10:1/0"},
		{0, 100, pages{{coverWindow(0, "")}, {coverWindow(0, "b"), coverWindow(20, "")}}, "0:2/0, 20:1/0"},
		{0, 100, pages{{held(0, 3), coverWindow(10, "")}, {coverWindow(20, "")}}, "0:1/0, 10:2/0, 20:2/0"},
		{10, 25, pages{{held(0, 6)}}, "10:1/0, 20:1/0"},
		{10, 30, pages{{held(0, 6)}}, "10:1/0, 20:1/0"},
		{0, 100, pages{{held(0, 2)}, {held(10, 2)}}, "0:1/0, 10:2/0, 20:1/0"},
		{0, 100, pages{{damaged(0), coverWindow(0, "b"), coverWindow(10, "")}}, "0:1/1, 10:1/0"},
		{5, 100, pages{{damaged(0), coverWindow(10, "")}}, "5:0/1, 10:1/0"},
		{0, 100, pages{{with(damaged(0), "sk", dynamo.String("no time")), coverWindow(10, "")}}, "10:1/0, 100:0/1"},
		{0, 100, pages{{stray, coverWindow(95, "")}}, "95:1/0, 100:0/1"},
		{0, 100, pages{{coverWindow(0, "")}, nil}, `heat: reading the heat table's partition "pk": broken`},
		{0, 100, pages{{coverWindow(0, ""), coverWindow(10, ""), coverWindow(20, "")}, nil}, `0:1/0, heat: reading the heat table's partition "pk": broken`},
	} {
		if got := windowsOf(c.from, c.to, c.pages...); got != c.want {
			t.Errorf("%d to %d: %s, want %s", c.from, c.to, got, c.want)
		}
	}
}
