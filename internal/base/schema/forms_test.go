package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 125e6, time.UTC)

// pair returns a primary key as one text.
func pair(pk, sk string) string { return pk + " " + sk }

// TestStoredForms pins the form of each key. Another form does not find what is stored.
func TestStoredForms(t *testing.T) {
	east := noon.In(time.FixedZone("east", 7200))
	for want, got := range map[string]string{
		"C#a#0 -":                            pair(CounterKey("a", 0)),
		"C#a#3 +":                            pair(CounterKey("a", 3)),
		"2026-01-05T12:00:00.125Z#id":        EventSortKey(east, "id"),
		"2026-01-05T12:00:00.125Z":           EventBound(east),
		"2026-01-05T12:00:00.126Z":           EventBound(noon.Add(time.Nanosecond)),
		"L#b#all#p b":                        pair(EntryKey("b", "all", "p")),
		"L#b#all#7":                          BoardShardKey("b", "all", 7),
		"B#b -":                              pair(SettingsKey("b")),
		"L#b#all":                            BoardRollupKey("b", "all"),
		"N#0 L#b#all":                        pair(NoteKey("b", "all")),
		"N#0 m#L#b#all#s-1#42":               pair(RowsNoteKey("b", "all", "s-1", "42")),
		"L#b#all#0 h#s-1":                    pair(HistogramKey("b", "all", "s-1")),
		"F#12 C#a#0":                         pair(FailureKey("C#a#0")),
		"?s-1#42":                            UnknownTarget("s-1", "42"),
		"R#k#3600#1767614400#2":              Key{BaseKey{Limit, "k"}, LimitBucket(noon, time.Hour), 2}.String(),
		"2026-01-05!a#7":                     BoardMarkerSK(east, "a", 7),
		"A#a p#s":                            pair(AckKey("a", "p", "s")),
		"E#e#2026-01 2026-01-05T12#s-1":      pair(RollupKey("e", east, "s-1")),
		"2026-01-05T12 2026-01-06T12":        pair(RollupSortBounds(noon, noon.Add(24*time.Hour))),
		"S#g#i s#i":                          pair(SessionKey("g", "i")),
		"S#g#4":                              SessionShardKey("g", 4),
		"log#3":                              MapLog(3),
		"keys#2":                             MapBucket(2),
		"keys#0 C#a":                         pair(MapKey("C#a")),
		"snapshot-1#1":                       MapSnapshot(1),
		"2026-01-05T12:00:00.125Z#x":         MapLogSK(noon, "x"),
		"E#e#2026-01-05T12":                  EventTarget("e", noon),
		"r5 x5":                              pair(RevAttr(5), ValueAttr(5)),
		"F#0 F#15 16":                        ends(FailurePartitions()),
		"N#0 N#7 8":                          ends(NotePartitions()),
		"L#b#all#0 L#b#all#3 4":              ends(HistogramPartitions("b", "all")),
		"I# - ~probe pk sk expires_at v n ~": strings.Join([]string{CallPrefix, SoleSK, ProbeSK, PK, SK, ExpiresAt, Version, CounterMaxShards, EmptiedSuffix}, " "),
		"4 4 8 64 40":                        fmt.Sprint(MapBuckets, " ", MapLogs, " ", MapSlices, " ", SourcesPerPartial, " ", RollupSequenceDigits),
		"1h0m0s 24h0m0s 48h0m0s 100 1000":    fmt.Sprint(LimitLifetime, MarkerLifetime, EmptiedLifetime, " ", DefaultBoardSize, " ", MaxBoardSize),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if spread := ExpirySpread("id-1"); spread != ExpirySpread("id-1") || spread == ExpirySpread("id-2") || spread%time.Second != 0 {
		t.Errorf("an expiry is spread by %v", spread)
	}
	for sk, want := range map[string]string{"2026-01-05!a#7": "a", "2026-01-05!a": "", "2026-01-05~a#7": "a", "2026-01-0!a#7": "", "2026-01-05T12:00:00.125Z!a#1": "a", "2026-01-05T12:00:00.1255Z!a#1": "", "2026-01-05#!a#1": ""} {
		if got, ok := ParseMarker(sk); got != want && ok || ok != (want != "") {
			t.Errorf("mark %s: %q, %t", sk, got, ok)
		}
	}
	slicesOf, longest := map[int]bool{}, time.Duration(0)
	for i := range 400 {
		slicesOf[MapSlice(fmt.Sprint("C#", i))] = true
		longest = max(longest, ExpirySpread(fmt.Sprint(i)))
	}
	if len(slicesOf) != MapSlices || longest < 23*time.Hour || longest >= 24*time.Hour {
		t.Errorf("entries are in %d slices, expiries spread over %v", len(slicesOf), longest)
	}
	if EmptiedLifetime < 2*24*time.Hour || MarkerLifetime < 24*time.Hour || LimitLifetime <= 0 {
		t.Error("what guards against old records expires before them")
	}
}

// ends returns the first and the last of a list, and its length.
func ends(list []string) string { return fmt.Sprint(list[0], " ", list[len(list)-1], " ", len(list)) }

// TestParsedForms checks what is read from keys, and which are not of the form.
func TestParsedForms(t *testing.T) {
	for in, want := range map[string]string{
		"L#b#all#p b": "b all p", "L#b#c#all#p#q b#c": "b#c all p#q", "L#b#all# b": "", "L#b#x#p b": "", "L#b#all#p c": "", "C#b#all#p b": "", "L#b#2026-01-05#p b": "b 2026-01-05 p", "L#b#2026-W02#p b": "b 2026-W02 p",
		"L#b#2026-W2#p b": "", "L#b#202-W02#p b": "", "L#b#2026-Wxx#p b": "", "L#b#2026-13-01#p b": "", "L#b#all b": "",
	} {
		pk, sk, _ := strings.Cut(in, " ")
		board, period, player, ok := ParseEntryKey(pk, sk)
		if got := strings.Join([]string{board, period, player}, " "); ok != (want != "") || ok && got != want {
			t.Errorf("entry %s: %q, %t", in, got, ok)
		}
	}
	for in, want := range map[string]string{"L#b#all#7": "b all 7", "L#b#c#all#7": "b#c all 7", "L#b#7": "", "C#b#7": "", "L#b#all#x": ""} {
		board, period, n, err := ParseBoardShardKey(in)
		if got := fmt.Sprint(board, " ", period, " ", n); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("write shard %s: %q, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{"m#L#b#all#s-1#42": "L#b#all", "m#L#b#all#s#1": "L#b#all", "m#x#1": "", "m#a#1#2": "a", "m#1": "", "L#b#all#s-1#42": "", "h#L#b#all": ""} {
		if got, ok := ParseRowsNote(in); got != want || ok != (want != "") {
			t.Errorf("note %s: %q, %t", in, got, ok)
		}
	}
	_, histogramSK := HistogramKey("b", "all", "s-1")
	for in, want := range map[string]string{"L#b#all#0 " + histogramSK: "L#b#all s-1", "L#b#all#2 " + histogramSK: "", "L#b#all#0 s-1": "", "0 " + histogramSK: "", "L#b#all top": ""} {
		pk, sk, _ := strings.Cut(in, " ")
		period, streamShard, ok := ParseHistogramKey(pk, sk)
		if got := period + " " + streamShard; ok != (want != "") || ok && got != want {
			t.Errorf("fragment %s: %q, %t", in, got, ok)
		}
	}
	for in, want := range map[string]string{"E#a": "entity a", "C#": "counter ", "L#b#all": "board b#all", "x": "", "": "", "I#a": ""} {
		base, err := ParseBaseKey(in)
		if got := fmt.Sprint(base.Type, " ", base.Name); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("base key %s: %q, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{"E#e#2026-01": "e 2026-01-01", "E#e#f#2026-12": "e#f 2026-12-01", "C#e#2026-01": ""} {
		entity, month, err := ParseRollupPartition(in)
		if got := entity + " " + month.Format(time.DateOnly); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("rollup %s: %q, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{"2026-01-05T12:00:00.125Z#x": "125", "2026-01-05T12:00:00.125Z": "", "2026-01-05T12:00:00.125Zx": "", "2026-13-05T12:00:00.125Z#x": "", "2026-01-05T12:00:00.125Z#": "125"} {
		at, err := ParseMapLogSK(in)
		if got := fmt.Sprint(at.Nanosecond() / 1e6); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("log %s: %q, %v", in, got, err)
		}
	}
	for in, want := range map[string]Target{
		"C#a#2": {Base: BaseKey{Counter, "a"}, Partial: 2}, "C#a#-1": {}, "C#a": {}, "L#b#all": {Base: BaseKey{Board, "b"}, Period: "all"}, "L#b#x": {}, "S#g#1": {}, "R#k#1": {},
		"E#e#2026-01-05T13": {Base: BaseKey{Event, "e"}, Hour: time.Date(2026, 1, 5, 13, 0, 0, 0, time.UTC)}, "E#e#2026-01-05": {},
	} {
		got, err := ParseTarget(in)
		if got != want || (err == nil) != (want != Target{}) || err == nil && got.String() != in {
			t.Errorf("target %s: %+v, %v", in, got, err)
		}
	}
}

// TestSourcesOfPartials checks which write shards a partial's attributes are of.
func TestSourcesOfPartials(t *testing.T) {
	partial := map[string]int{"r2": 1, "x2": 1, "x10": 1, "r0": 1, "rx3": 1, "x": 1, "r-1": 1, "x01": 1, "as_of": 1, "v": 1, "gone": 1}
	if got := SourcesOf(partial); !slices.Equal(got, []int{0, 2, 10}) {
		t.Errorf("%v", got)
	}
}

// TestTablesOfADeployment checks the tables, and which has the items of a kind or a key.
func TestTablesOfADeployment(t *testing.T) {
	names := NamesFor("p-")
	var texts []string
	for _, table := range Tables(names) {
		text := fmt.Sprint(table.Name, " ", table.PartitionKey, " ", table.SortKey, " ", table.TTL, " ", table.Stream, " ", table.Expendable)
		for _, x := range table.Indexes {
			text += fmt.Sprint(" ", x.Name, " ", x.PartitionKey, " ", x.SortKey, x.Include)
		}
		texts = append(texts, text)
	}
	want := []string{
		"p-items pk sk expires_at true false by_rank board_shard rank_key[row_rev expires_at] by_group session_shard sk[started_at ends_at]",
		"p-events pk sk expires_at true false", "p-rollups pk sk expires_at false false", "p-shard-map pk sk expires_at false false", "p-heat pk sk expires_at false true",
	}
	if !slices.Equal(texts, want) {
		t.Errorf("%q", texts)
	}
	if names.Of(Event) != "p-events" || names.Of(Counter) != "p-items" || names.OfKey("E#e#2026-01-05#0") != "p-events" || names.OfKey("I#x") != "p-items" {
		t.Error("a kind is in another table")
	}
	for table, want := range map[string]StreamTable{"p-items": ItemsTable, "p-events": EventsTable, "p-heat": "", "items": ""} {
		if got, ok := names.Streamed(table); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %t", table, got, ok)
		}
	}
}
