package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestCursors checks which texts are cursors, and of which list.
func TestCursors(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	key, asc := schema.EventSortKey(at, "x"), listOfEvents(&eventsInput{Entity: "e", Order: "asc"})
	bound, _, _ := shard.Millis.Bounds(at, at.Add(1)) // the position of a page without events
	for _, c := range []struct {
		text, after, fails string
	}{
		{"", "", ""}, {encodeCursor(asc, key), key, ""},
		{encodeCursor(asc, bound), bound, ""},
		{encodeCursor(listOfEvents(&eventsInput{Entity: "e", Order: "desc"}), key), "", "other parameters"},
		{encodeCursor(listOfEvents(&eventsInput{Entity: "f", Order: "asc"}), key), "", "other parameters"},
		{encodeCursor(asc, ""), "", "not a cursor"},
		{encodeCursor(asc, "x"), "", "not a cursor"}, {encodeCursor(asc, bound+strings.Repeat("x", 1024)), "", "not a cursor"},
		{encodeCursor(asc, schema.EventSortKey(at, "a\x00")), "", "not a cursor"},
		{cursor{2, digest(asc), key}.text(), "", "not a cursor"},
		{encodeCursor(asc, key) + "~", "", "not a cursor"}, {"~", "", "not a cursor"}, {"e30", "", "not a cursor"}, {"bm90IEpTT04", "", "not a cursor"},
	} {
		after, err := decodeCursor(asc, c.text, isEventPosition)
		message := ""
		if fault, ok := errors.AsType[*huma.ErrorModel](err); ok {
			message = fault.Errors[0].Message
		}
		if after != c.after || (err == nil) != (c.fails == "") || !strings.Contains(message, c.fails) {
			t.Errorf("%q: %q, %v %q; want %q, %q", c.text, after, err, message, c.after, c.fails)
		}
	}
	for in, fault := range map[shardsInput]string{
		{Cursor: "x", Type: "counter"}: "query.cursor", {Cursor: "x", Name: "a"}: "query.cursor", {Type: "counter"}: "query.name", {Name: "a"}: "query.type",
	} {
		if _, err := new(shardReader).getShards(t.Context(), &in, at); !strings.HasPrefix(faultOf(err), fault+" ") {
			t.Errorf("%+v: %s, want %s", in, faultOf(err), fault)
		}
	}
	if isBaseKey("x") || !isBaseKey("C#a") {
		t.Error("the position of a list of shard counts is a base key")
	}
}

// faultOf returns the location, the message and the value of a 422's only fault, or the error's text.
func faultOf(err error) string {
	problem, ok := errors.AsType[*huma.ErrorModel](err)
	if !ok || len(problem.Errors) != 1 {
		return fmt.Sprint(err)
	}
	fault := problem.Errors[0]
	if raw, ok := fault.Value.(json.RawMessage); ok { // once a test has made a service
		fault.Value = strings.Trim(string(raw), `"`)
	}
	return fmt.Sprint(fault.Location, " ", fault.Message, " ", fault.Value)
}

// TestColumnsOfMaps checks the length of a map's columns, and which parameters are invalid.
func TestColumnsOfMaps(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		span time.Duration
		step string
		want time.Duration // 0 is invalid
	}{
		{0, "", 0}, {-1, "", 0}, {1, "", 10 * time.Second}, {40 * time.Minute, "", 10 * time.Second}, {40*time.Minute + 1, "", 20 * time.Second},
		{80*time.Minute + 1, "", 30 * time.Second}, {2*time.Hour + 1, "", time.Minute}, {4*time.Hour + 1, "", 2 * time.Minute},
		{8*time.Hour + 1, "", 5 * time.Minute}, {20*time.Hour + 1, "", 10 * time.Minute}, {40*time.Hour + 1, "", 20 * time.Minute}, {80*time.Hour + 1, "", 30 * time.Minute}, {7 * day, "", time.Hour}, {7*day + 1, "", 0},
		{time.Minute, "1s", time.Second}, {time.Minute, "999ms", 0}, {time.Minute, "1500ms", 0}, {time.Hour, "10m", 10 * time.Minute}, {time.Hour, "601s", 0},
		{24 * time.Minute, "1s", time.Second}, {24*time.Minute + 1, "1s", 0}, {time.Minute, "x", 0},
	} {
		got, err := (&heatInput{Step: httpapi.DurationText(c.step)}).columnLength(c.span)
		if got != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%v in steps of %q: %v, %v; want %v", c.span, c.step, got, err, c.want)
		}
	}
	const tooMany = "query.step it makes 1441 columns, more than 1440: ask for a longer step or a shorter time 1s"
	if _, err := (&heatInput{Step: "1s"}).columnLength(24*time.Minute + 1); faultOf(err) != tooMany {
		t.Errorf("too many columns: %s", faultOf(err))
	}
	if _, err := (&heatInput{}).columnLength(0); !strings.HasPrefix(faultOf(err), "query.from it must be before now ") {
		t.Errorf("a map that begins now: %s", faultOf(err))
	}
	for since, want := range map[time.Duration]time.Duration{30 * time.Minute: time.Second, 30*time.Minute + 1: time.Minute, 3 * time.Hour: time.Minute, 3*time.Hour + 1: 10 * time.Minute} {
		if got := Resolution(since); got != want {
			t.Errorf("the windows of %v have %v, want %v", since, got, want)
		}
	}
	now := time.Date(2026, 1, 5, 12, 0, 7, 0, time.UTC)
	o, err := (&heatInput{Rows: 9, Group: "base"}).options(now)
	if err != nil || !o.From.Equal(now.Add(-15*time.Minute-7*time.Second)) || !o.To.Equal(now.Add(3*time.Second)) || o.Step != 10*time.Second || !o.ByBase || o.Rows != 9 {
		t.Errorf("by default %+v, %v", o, err)
	}
	in := &heatInput{From: httpapi.Time{Time: now.Add(-time.Minute)}, To: httpapi.Time{Time: now.Add(3 * time.Second)}, Step: "10s"}
	if o, err = in.options(now); err != nil || !o.From.Equal(now.Add(-67*time.Second)) || !o.To.Equal(in.To.Time) || o.ByBase {
		t.Errorf("with bounds %+v, %v", o, err)
	}
	in.To.Time = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	in.From.Time = in.To.Add(-time.Second)
	if o, err = in.options(now); faultOf(err) != "query.to a column lies outside the years 0000 to 9999: ask for a time further inside 9999-12-31T23:59:59.000Z" {
		t.Errorf("a column in the year 10000: %+v, %q", o, faultOf(err))
	}
}

// failing is a shard map with one key, whose calls may fail.
type failing struct {
	oneEntry
	since, read, lookup error
}

func (f failing) Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error) {
	entry, _ := f.oneEntry.Lookup(ctx, key, now)
	return entry, f.lookup
}

func (f failing) Since(ctx context.Context, from, now time.Time) ([]shardmap.Entry, error) {
	list, _ := f.oneEntry.Since(ctx, from, now)
	if !from.Before(now) {
		return nil, f.since
	}
	return list, f.since
}

func (f failing) Read(context.Context, string) (shardmap.Entry, error) { return f.Entry, f.read }

// slow is a shard map whose reads take a second.
type slow struct{ failing }

func (slow) Read(_ context.Context, key string) (shardmap.Entry, error) {
	time.Sleep(time.Second)
	return shardmap.Entry{Key: key, Version: 2}, nil
}

// TestNotesAreReadInParallel checks that each entry gets its own notes, and that 40 keys are read in three rounds.
func TestNotesAreReadInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, entries, start := NewHeat(nil, HeatOptions{Shards: slow{}}), make([]shardmap.Entry, 40), time.Now()
		for i := range entries {
			entries[i] = shardmap.Entry{Key: fmt.Sprint("C#", i), Version: 1}
		}
		if err := h.addNotes(t.Context(), entries); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		for i, e := range entries {
			if e.Key != fmt.Sprint("C#", i) || e.Version != 2 {
				t.Errorf("entry %d is %q, version %d", i, e.Key, e.Version)
			}
		}
	})
}

// TestChangesOfARange checks the changes that took effect in a range of time, and that failed reads of the map are errors.
func TestChangesOfARange(t *testing.T) {
	start, down := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), errors.New("down")
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	history := shard.History{{At: at(0), Count: 4}, {At: at(10), Count: 4}, {At: at(20), Count: 8}}
	for name, c := range map[string]struct {
		key         string
		from, to    int
		since, read error
		want        string // counts before and after
	}{
		"both":            {"R#a", 0, 21, nil, nil, "1-4 4-8 "},
		"the first":       {"R#a", 0, 20, nil, nil, "1-4 "},
		"the second":      {"R#a", 1, 21, nil, nil, "4-8 "},
		"none":            {"R#a", 1, 20, nil, nil, ""},
		"of another kind": {"a", 0, 21, nil, nil, ""},
		"no map":          {"R#a", 0, 21, down, nil, down.Error()},
		"no notes":        {"R#a", 0, 21, nil, down, down.Error()},
	} {
		h := NewHeat(nil, HeatOptions{Shards: failing{oneEntry{shardmap.Entry{Key: c.key, History: history}}, c.since, c.read, nil}})
		found, err := h.changesIn(t.Context(), at(c.from), at(c.to), at(21))
		got := ""
		for _, change := range found[c.key] {
			got += fmt.Sprint(change.Before, "-", change.Shards, " ")
		}
		if errors.Is(err, down) {
			got = down.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	if found, err := NewHeat(nil, HeatOptions{}).changesIn(t.Context(), at(0), at(21), start); found != nil || err != nil {
		t.Errorf("without a map: %v, %v", found, err)
	}
	notes, entry := newNoteCache(), shardmap.Entry{Key: "R#a", Version: 5}
	for i, c := range []struct {
		seen  int64
		down  error
		fails bool
	}{{5, nil, false}, {5, down, false}, {4, down, false}, {6, down, true}} {
		if got, err := notes.entryWithNotes(t.Context(), failing{oneEntry{entry}, nil, c.down, nil}, shardmap.Entry{Key: "R#a", Version: c.seen}); (err != nil) != c.fails || err == nil && got.Version != 5 {
			t.Errorf("notes of row %d: %+v, %v", i, got, err)
		}
	}
	made := func(seconds, before int) heat.Change {
		return heat.Change{Time: display.Time{Time: at(seconds)}, By: "ingest", Before: before, Shards: 4}
	}
	if got := throttledAt([]heat.Change{made(1, 2), made(2, 3), made(3, 4)}); !got.Equal(at(2)) || !throttledAt(nil).IsZero() {
		t.Errorf("throttled at %v", got)
	}
}

// TestNewestWindowsBegin checks from which time windows are read one by one.
func TestNewestWindowsBegin(t *testing.T) {
	end := time.Date(2026, 1, 5, 12, 3, 0, 0, time.UTC)
	for _, c := range []struct {
		from, to, window time.Duration // before end; the window's length
		isFolded         bool
		want             time.Duration // before end
	}{
		{time.Hour, 2 * time.Minute, 0, true, 3 * time.Minute},
		{time.Hour, 2 * time.Minute, 45 * time.Second, true, 3*time.Minute + 30*time.Second},
		{time.Hour, 20 * time.Minute, 0, true, 11 * time.Minute},
		{time.Hour, -time.Minute, 0, true, time.Minute},
		{time.Minute, 2 * time.Minute, 0, true, time.Minute},
		{time.Hour, 1000 * time.Hour, 0, false, 13 * time.Minute},
		{12 * time.Minute, 1000 * time.Hour, 0, false, 12 * time.Minute},
	} {
		p := heat.Progress{To: end.Add(-c.to), Window: c.window}
		if got := end.Sub(startOfNewest(end.Add(-c.from), end, p, c.isFolded)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestCompleteWindows checks which windows are complete, and where they end.
func TestCompleteWindows(t *testing.T) {
	start := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	window := func(after time.Duration, base time.Duration) heat.Window {
		at := start.Add(after)
		return heat.Window{Start: at, Items: []heat.Item{{Start: at, Window: 10 * time.Second, Base: base}}}
	}
	list := []heat.Window{window(0, time.Second), window(10*time.Second, 0), window(20*time.Second, 0)}
	r := newestWindows{complete: slices.Clone(list)}
	r.moveOpen(start.Add(10 * time.Second))
	if len(r.complete) != 1 || len(r.open) != 2 {
		t.Errorf("%d complete, %d open", len(r.complete), len(r.open))
	}
	if got := newestEnd(list); !got.Equal(start.Add(30*time.Second)) || !newestEnd(nil).IsZero() {
		t.Errorf("the newest ends at %v", got)
	}
	if got := foldedTo(list[0]); !got.Equal(list[0].Items[0].End()) || !foldedTo(list[1]).IsZero() {
		t.Errorf("folded up to %v and %v", got, foldedTo(list[1]))
	}
}

// TestHottestFirst checks the order of rows.
func TestHottestFirst(t *testing.T) {
	row := func(key string, now heat.Status, rate float64) heat.KeyHeat {
		r := heat.KeyHeat{WriteUnitsPerSecond: rate}
		r.Key, r.Now = key, now
		return r
	}
	rows := []heat.KeyHeat{row("e", 0, 9), row("d", heat.Hot, 1), row("c", heat.Hot, 5), row("b", heat.Hot+1, 5), row("a", 0, 9)}
	sortHottest(rows)
	var keys []string
	for _, r := range rows {
		keys = append(keys, r.Key)
	}
	if got := strings.Join(keys, ""); got != "bcdae" {
		t.Errorf("got %s, want bcdae", got)
	}
}

// oneItem is a client that returns the same item for every GetItem.
type oneItem struct {
	client.Querier
	item dynamo.Item
	err  error
}

func (c oneItem) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: c.item}, c.err
}

// TestSettingsOfBoards checks by a board's stored settings whether its scores may fall, and which periods it has.
func TestSettingsOfBoards(t *testing.T) {
	settings := func(attribute, value string) dynamo.Item { return dynamo.Item{attribute: dynamo.String(value)} }
	down := errors.New("down")
	for _, c := range []struct {
		oneItem
		fall   bool
		period bool // whether it may have the day
	}{
		{oneItem{}, true, false}, {oneItem{item: settings("x", "y")}, false, false},
		{oneItem{item: settings(schema.BoardMode, "best")}, false, false}, {oneItem{item: settings(schema.BoardMode, "latest")}, true, false}, {oneItem{item: settings(schema.BoardMode, "sum")}, true, false},
		{oneItem{item: settings(schema.BoardPeriods, "all,day")}, false, true}, {oneItem{item: settings(schema.BoardPeriods, "all,week")}, false, false},
		{oneItem{err: down}, true, false},
	} {
		r := &boardReader{client: c.oneItem}
		fall, err := r.scoresMayFall(t.Context(), "b")
		if fall != c.fall || (err != nil) != (c.err != nil) {
			t.Errorf("%v, %v: scores may fall %t, %v", c.item, c.err, fall, err)
		}
		err = r.checkPeriod(t.Context(), "b", "day")
		if (err == nil) != c.period {
			t.Errorf("%v, %v: the day is valid %t", c.item, c.err, err == nil)
		}
		if kept := dynamo.Text(c.item, schema.BoardPeriods); kept == "all,week" && faultOf(err) != "query.period the board doesn't keep this period; it keeps all, week day" {
			t.Errorf("periods %s: %s", kept, faultOf(err))
		}
	}
	top := dynamo.Item{schema.Version: dynamo.Number(1), schema.AsOf: dynamo.Number(5)}
	for name, c := range map[string]struct {
		oneItem
		fails bool
	}{"none": {oneItem{}, false}, "damaged": {oneItem{item: top}, true}, "down": {oneItem{err: down}, true}} {
		got, at, err := (&boardReader{client: c.oneItem}).readTop(t.Context(), "b", "all")
		if got != (*parts.Top)(nil) || (err != nil) != c.fails || at.IsZero() == (name == "damaged") {
			t.Errorf("%s: %v of %v, %v", name, got, at, err)
		}
	}
	for _, c := range []struct {
		settings dynamo.Item
		says     string
	}{{nil, "no board"}, {settings(schema.BoardPeriods, "all,day"), `player "p"`}, {settings(schema.BoardPeriods, "all"), "validation"}} {
		client := &unreadable{}
		r := &boardReader{client: oneItem{client, c.settings, nil}, entries: boards.NewReader(client, "items", shardmap.New(client, "map", shardmap.Options{}))}
		if _, err := r.getRank(t.Context(), &rankInput{Board: "b", Player: "p", Period: "day"}, time.Unix(1e9, 0)); !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("the rank of an absent player, with the settings %v: %v, want %q", c.settings, err, c.says)
		}
	}
	if !asOf(nil).IsZero() || asOf(top).UnixMilli() != 5 {
		t.Error(fmt.Sprint("the time of a fold is ", asOf(nil), " and ", asOf(top)))
	}
}

// TestSumsOfDeletedEvents checks that buckets and measures of which nothing is left are not listed.
func TestSumsOfDeletedEvents(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	b := &bucketRange{sums: map[time.Time]*parts.Rollup{
		at: {Events: 2, Measures: map[string]parts.Measure{"deleted": {}, "kept": {N: 1}}}, at.Add(time.Hour): {},
	}}
	if list := b.rollups(); len(list) != 1 || list[0].Count != 2 || len(list[0].Measures) != 1 || list[0].Measures["kept"].Count != 1 {
		t.Errorf("%+v", list)
	}
}

// TestFragmentsThatCount checks which fragments are in the sum of a histogram.
func TestFragmentsThatCount(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	var one parts.Histogram
	one.Add(1, 1)
	partitions := int64(len(schema.HistogramPartitions("b", "all")))
	for name, c := range map[string]struct {
		seq     string
		expires time.Duration // after now; 0 for never
		want    int64
	}{"counting": {"5", 0, partitions}, "not yet expired": {"5", time.Second, partitions}, "expired": {"5", -time.Second, 0}, "emptied": {"5" + schema.EmptiedSuffix, 0, 0}} {
		it := one.Attributes()
		it[schema.SK], it[schema.RollupSequence], it[schema.AsOf] = dynamo.String(schema.HistogramPrefix+"s"), dynamo.String(c.seq), dynamo.Number(now.UnixMilli())
		if c.expires != 0 {
			it[schema.ExpiresAt] = dynamo.Number(now.Add(c.expires).Unix())
		}
		got, err := (&boardReader{client: &unreadable{items: []dynamo.Item{it}}}).readHistogram(t.Context(), boardState{name: "b", period: "all", now: now})
		if err != nil || got.Total() != c.want || int64(got.fragments) != c.want || got.at.Equal(now) != (c.want > 0) {
			t.Errorf("%s: %d players as of %v, %v; want %d", name, got.Total(), got.at, err, c.want)
		}
	}
}

// TestAnswersFromTops checks which answers are from the stored top, which has two of four places, and which from the index.
func TestAnswersFromTops(t *testing.T) {
	now, folded, top := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), time.Date(2026, 1, 5, 11, 0, 0, 0, time.UTC), parts.NewTop()
	var index []dynamo.Item
	var places []boards.Place
	for i := range 4 {
		p := boards.Place{Player: fmt.Sprint("p", i), Score: score(t, fmt.Sprint(9-i)), At: folded}
		places, index = append(places, p), append(index, dynamo.Item{schema.RankKey: dynamo.String(p.RankKey()), schema.EntryRowRev: dynamo.Number(1)})
		top.FoldEntry(parts.EntryState{Place: p, Rev: 1, Present: true})
	}
	top.Trim(2)
	stored := dynamo.Item{
		schema.Version: dynamo.Decimal(schema.BoardVersion), schema.AsOf: dynamo.Number(folded.UnixMilli()),
		schema.TopPlaces: &types.AttributeValueMemberB{Value: top.Bytes()}, schema.TopWhole: &types.AttributeValueMemberBOOL{Value: top.Whole()},
	}
	client := &unreadable{items: index}
	r := &boardReader{client: oneItem{client, stored, nil}, entries: boards.NewReader(client, "items", shardmap.New(&unreadable{}, "map", shardmap.Options{}))}
	for i, c := range []struct {
		limit, n int
		inTop    bool
	}{{2, 2, true}, {3, 3, false}, {4, 4, false}, {9, 4, false}} {
		list, at, err := r.readBest(t.Context(), "b", "all", c.limit, now)
		if err != nil || len(list) != c.n || list[0].Player != places[0].Player || list[c.n-1].Player != places[c.n-1].Player || at.Equal(now) == c.inTop {
			t.Errorf("row %d: %+v, %v", i, list, err)
		}
	}
	if got, want := client.texts(), "items by_rank ~ 0 L#b#all#0 12, items by_rank ~ 0 L#b#all#0 6, items by_rank ~ 0 L#b#all#0 7"; got != want {
		t.Errorf("it reads %s, want %s", got, want)
	}
}

// TestBrokenFragments checks that a rollup with a fragment that can't be read is an error.
func TestBrokenFragments(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	b := &bucketRange{from: at, to: at.Add(time.Hour), every: time.Hour, now: at, sums: map[time.Time]*parts.Rollup{}}
	broken := dynamo.Key(schema.RollupKey("e", at, "s"))
	broken["events"] = dynamo.String("x")
	for name, it := range map[string]dynamo.Item{"a fragment": broken, "a sort key": dynamo.Key("p", "x")} {
		if err := b.addFragment(it); err == nil || len(b.sums) > 0 {
			t.Errorf("%s: %v, %v", name, err, b.sums)
		}
	}
}

// TestEventsLongerAsJSON checks the second read of a page whose events fit by their size, but not as JSON.
func TestEventsLongerAsJSON(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	client := &unreadable{}
	for _, id := range []string{"a", "b"} {
		it := dynamo.Key("E#e#2026-01-05#0", schema.EventSortKey(at, id))
		it["data"] = &types.AttributeValueMemberM{Value: dynamo.Item{"a": dynamo.String(strings.Repeat("\x01", 1e6))}}
		client.items = append(client.items, it)
	}
	reader := &eventReader{events: events.NewReader(client, "events", shardmap.New(&unreadable{}, "map", shardmap.Options{}))}
	in := &eventsInput{Entity: "e", From: httpapi.Time{Time: at}, To: httpapi.Time{Time: at.Add(time.Second)}, Order: "asc", Limit: 9}
	for _, client.n = range []int32{0, 1, 2} {
		client.calls.Store(0)
		if out, err := reader.listEvents(t.Context(), in, at.Add(time.Hour)); (err != nil) != (client.n > 0) || err == nil && (len(out.Body.Events) != 1 || out.Body.Cursor == "" || client.calls.Load() != 2) {
			t.Errorf("read %d fails: %+v, %v after %d reads", client.n, out, err, client.calls.Load())
		}
	}
}

// TestFullPages checks how many events fit into a response, and after which the next page begins.
func TestFullPages(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		kb   []int
		want int
	}{{[]int{1, 1, 1}, 3}, {[]int{2000, 2000, 2000}, 2}, {[]int{6000, 1}, 1}, {[]int{1, 1, 6000, 1, 1}, 2}, {nil, 0}} {
		page := events.Page{Next: "next"}
		for i, kb := range c.kb {
			data := dynamo.Item{"a": dynamo.String(strings.Repeat("x", 1000*kb))}
			page.Events = append(page.Events, events.Event{ID: fmt.Sprint(i), Time: at, Data: data})
		}
		next := "next"
		if c.want < len(c.kb) {
			next = schema.EventSortKey(at, fmt.Sprint(c.want-1))
		}
		if list, got, err := fitPage(page); err != nil || len(list) != c.want || got != next {
			t.Errorf("events of %d KB: %d fit, then %q, %v; want %d, then %q", c.kb, len(list), got, err, c.want, next)
		}
	}
}

// unreadable is a client of empty tables whose calls fail from the nth on, and whose queries return some items. If alone is
// set, only the nth fails, without those of the shard map, which has ways around a failed read.
type unreadable struct {
	ShardMapClient
	calls atomic.Int32
	n     int32
	alone bool
	items []dynamo.Item
	reads sync.Map // a text for each read outside of the shard map
}

func (u *unreadable) fault(table string, index *string, values dynamo.Item, more ...any) error {
	if table != "s" {
		texts := []any{table, aws.ToString(index)}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			texts = append(texts, dynamo.Text(values, name))
		}
		u.reads.Store(strings.TrimSpace(fmt.Sprintln(append(texts, more...)...)), true)
	} else if u.alone {
		return nil
	}
	if call := u.calls.Add(1); call == u.n || call > u.n && u.n > 0 && !u.alone {
		return shard.ErrStale
	}
	return nil
}

// texts returns the texts of all reads.
func (u *unreadable) texts() string {
	var reads []string
	u.reads.Range(func(text, _ any) bool { reads = append(reads, text.(string)); return true })
	return strings.Join(slices.Sorted(slices.Values(reads)), ", ")
}

func (u *unreadable) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{}, u.fault(*in.TableName, nil, in.Key, aws.ToBool(in.ConsistentRead))
}

func (u *unreadable) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (out *dynamodb.BatchGetItemOutput, err error) {
	for table, wanted := range in.RequestItems {
		err = u.fault(table, nil, wanted.Keys[0], len(wanted.Keys), aws.ToBool(wanted.ConsistentRead))
	}
	return &dynamodb.BatchGetItemOutput{}, err
}

func (u *unreadable) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return &dynamodb.QueryOutput{Items: u.items}, u.fault(*in.TableName, in.IndexName, in.ExpressionAttributeValues, aws.ToInt32(in.Limit))
}

// TestEachReadIsNeeded checks that a response is a 503 if any read for it fails for good, and its different reads: the table, the
// index, the texts of keys, and whether the read is consistent, or its limit.
func TestEachReadIsNeeded(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	cursor := encodeCursor(listOfEvents(&eventsInput{Entity: "e", Order: "asc"}), schema.EventSortKey(now, "x"))
	for path, want := range map[string]struct {
		status int
		reads  string // "" for many
	}{
		"/v1/counters?name=a":                                            {200, "i  C#a#0 - 1 false, r  C#a#0 - 1 false"},
		"/v1/counters?name=a&consistency=strong":                         {200, "i  C#a#0 - 1 true"},
		"/v1/events?entity=e&from=2026-01-04T00:00:00Z&order=desc":       {200, ""},
		"/v1/events?entity=e&from=2026-01-05T00:00:00Z&cursor=" + cursor: {200, "e  2026-01-05T12:01:00.000Z 2026-01-05T12:00:00.000Z#x E#e#2026-01-05#0 103"},
		"/v1/events/x?entity=e&time=2026-01-05T12:00:00Z":                {404, "e  E#e#2026-01-05#0 2026-01-05T12:00:00.000Z#x 1 true"},
		"/v1/rollups?entity=e&from=2026-01-05T00:00:00Z":                 {200, "r  2026-01-05T13 2026-01-05T00 E#e#2026-01 0"},
		"/v1/leaderboards?board=b&period=week&limit=9":                   {404, "i  B#b - true, r  L#b#2026-W02 top false"},
		"/v1/leaderboards/rank?board=b&player=p&period=day":              {404, "i  B#b - true, i  L#b#2026-01-05#p b 1 true"},
		"/v1/sessions?group=g":                                           {200, "i by_group s$ s#  S#g#0 5000"},
		"/v1/sessions?group=g&id=i":                                      {404, "i  S#g#i s#i true"},
		"/v1/sessions/list?group=g":                                      {200, "i by_group s$ s#  S#g#0 200"},
		"/v1/shards?type=counter&name=a":                                 {200, ""}, "/v1/shards": {200, ""}, "/v1/heat": {200, ""}, "/v1/hot-keys?since=4h": {200, ""},
	} {
		for n, total, alone := int32(0), int32(0), false; n <= total; n++ {
			client := &unreadable{n: n, alone: alone}
			service, err := New(Settings{ItemsTable: "i", EventsTable: "e", RollupsTable: "r", HeatTable: "h", ShardMapTable: "s"}, client)
			require.NoError(t, err)
			service.setClock(func() time.Time { return now })
			status := getJSON(t, httpapi.New(slog.New(slog.DiscardHandler), Routes(service)), path, nil)
			if n == 0 {
				total = client.calls.Load()
				if got := client.texts(); want.reads != "" && !alone && got != want.reads {
					t.Errorf("%s reads %s, want %s", path, got, want.reads)
				}
			}
			if n == 0 && (status != want.status || total == 0 && !alone) || n > 0 && status != 503 {
				t.Errorf("%s: %d with the reads from %d of %d on failed, alone %t", path, status, n, total, alone)
			}
			if n == total && !alone {
				n, alone = -1, true
			}
		}
	}
}
