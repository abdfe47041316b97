package parts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
)

var now = time.Date(2126, 1, 5, 12, 0, 0, 0, time.UTC)

// table is a client with fixed query results, by partition key, which records its writes.
type table struct {
	items   map[string][]item
	queries int
	err     error // of all writes
	puts    []types.TransactWriteItem
	update  *dynamodb.UpdateItemInput
}

func (f *table) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	f.queries++
	found, known := f.items[dynamo.Text(in.ExpressionAttributeValues, ":pk")]
	if !known {
		return nil, errors.New("no such partition")
	}
	return &dynamodb.QueryOutput{Items: found}, nil
}

func (f *table) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	f.puts = in.TransactItems
	return &dynamodb.TransactWriteItemsOutput{ConsumedCapacity: []types.ConsumedCapacity{{CapacityUnits: aws.Float64(7)}, {CapacityUnits: aws.Float64(4)}, {}}}, f.err
}

func (f *table) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	f.update = in
	return &dynamodb.UpdateItemOutput{}, f.err
}

func events(f *table) *Store[Rollup] {
	return NewEvents(f, "t", func() time.Time { return now })
}

// part returns a fragment of n events.
func part(streamShard, sequence string, n int64) Part[Rollup] {
	return Part[Rollup]{StreamShard: streamShard, Sequence: sequence, Value: Rollup{Events: n}}
}

func TestWhatCounts(t *testing.T) {
	for _, c := range []struct {
		p      Part[Rollup]
		counts bool
	}{
		{part("s", "1", 1), true},
		{part("s", "1~", 1), false},
		{part("s", "1~~", 1), false},
		{Part[Rollup]{Sequence: "1", ExpiresAt: now.Unix() + 1, Value: Rollup{Events: 1}}, true},
		{Part[Rollup]{Sequence: "1", ExpiresAt: now.Unix(), Value: Rollup{Events: 1}}, false},
		{Part[Rollup]{Sequence: "1", Damage: errors.New("x"), Value: Rollup{Events: 1}}, false},
	} {
		total := events(nil).Sum([]Part[Rollup]{c.p, c.p})
		if got := c.p.Counts(now); got != c.counts || total.Events != map[bool]int64{true: 2}[c.counts] {
			t.Errorf("%+v counts: %t, in a sum of %d events", c.p, got, total.Events)
		}
	}
	for asOf, want := range map[time.Time]bool{{}: false, now.Add(-48 * time.Hour): false, now.Add(-48*time.Hour - 1): true} {
		if got := (Part[int]{AsOf: asOf}).rested(now); got != want {
			t.Errorf("a fragment of %v rested: %t", asOf, got)
		}
	}
}

func TestSame(t *testing.T) {
	read := []Part[Rollup]{part("a", "1", 1), part("b", "2", 1)}
	for name, c := range map[string]struct {
		again []Part[Rollup]
		want  bool
	}{
		"equal":    {[]Part[Rollup]{part("a", "1", 9), part("b", "2", 1)}, true},
		"folded":   {[]Part[Rollup]{part("a", "1", 1), part("b", "3", 1)}, false},
		"replaced": {[]Part[Rollup]{part("a", "1", 1), part("c", "2", 1)}, false},
		"one more": {append(read, part("c", "1", 1)), false},
		"damaged":  {[]Part[Rollup]{part("a", "1", 1), {StreamShard: "b", Sequence: "2", Damage: errors.New("x")}}, false},
	} {
		if got := Same(read, c.again); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestSequence(t *testing.T) {
	for text, want := range map[string]string{
		"7": strings.Repeat("0", 39) + "7", strings.Repeat("9", 40): strings.Repeat("9", 40), "": strings.Repeat("0", 40),
		strings.Repeat("9", 41): "", "1x": "", "x1": "", "-1": "",
	} {
		if got, err := Sequence(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"0": "0", "9~": "9~", "9~~": "", "!5": "", "x": "", "": ""} {
		if got := sequenceOf(stored("s", text, 1, now)); got != want {
			t.Errorf("stored %q: %q, want %q", text, got, want)
		}
	}
}

// TestTransactions checks what each result of a transaction means, and that its write units are at least two for each
// action.
func TestTransactions(t *testing.T) {
	for _, c := range []struct {
		err     error
		actions int
		units   float64
		moved   bool
	}{
		{nil, 1, 11, false},
		{nil, 5, 11, false},
		{nil, 6, 12, false},
		{libtest.CanceledFor("None", "ConditionalCheckFailed"), 2, 0, true},
		{libtest.CanceledFor("TransactionConflict", "None"), 2, 0, true},
		{libtest.CanceledFor("ValidationError", "None"), 2, 0, false},
		{errors.New("down"), 2, 0, false},
	} {
		units, err := events(&table{err: c.err}).transact(t.Context(), make([]types.TransactWriteItem, c.actions))
		if units != c.units || errors.Is(err, ErrMoved) != c.moved || (err == nil) != (c.err == nil) {
			t.Errorf("%d actions, %v: %v units, %v", c.actions, c.err, units, err)
		}
	}
}

// TestExpiryOfMerged checks when a merged fragment expires, by those that it replaces.
func TestExpiryOfMerged(t *testing.T) {
	const retention = 72 * time.Hour
	b := Bucket{Entity: "e", Start: now.Add(-time.Hour)} // it ends now
	end, later, past := now, now.Add(100*time.Hour), now.Add(-2*time.Hour)
	for name, c := range map[string]struct {
		now       time.Time
		retention time.Duration
		expires   []int64
		want      int64
	}{
		"for ever":           {end, 0, []int64{later.Unix()}, 0},
		"by the bucket":      {end, retention, []int64{end.Unix() + 1}, end.Add(retention).Unix()},
		"by a fragment":      {end, retention, []int64{later.Unix(), end.Unix() + 1}, later.Unix()},
		"a fragment is kept": {end, retention, []int64{later.Unix(), 0}, 0},
		"none, at its end":   {end, retention, nil, end.Add(retention).Unix()},
		"none, later":        {end.Add(time.Minute), retention, nil, end.Add(time.Minute + retention).Unix()},
		"none, before":       {end.Add(-time.Minute), retention, nil, end.Add(retention).Unix()},
		"expired ones":       {end.Add(200 * time.Hour), retention, []int64{past.Unix(), later.Unix()}, end.Add(200*time.Hour + retention).Unix()},
	} {
		var read []Part[Rollup]
		for _, at := range c.expires {
			read = append(read, Part[Rollup]{Sequence: "1", ExpiresAt: at})
		}
		if got := b.Expiry(read, c.retention, c.now); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestFragmentsForReaders checks the fragment in an item for readers without a Store.
func TestFragmentsForReaders(t *testing.T) {
	expired, broken := stored("s", "1", 2, now), stored("s", "1", 2, now)
	expired[schema.ExpiresAt], broken["events"] = dynamo.Number(now.Unix()), dynamo.String("x")
	for name, c := range map[string]struct {
		stored item
		events int64
		fails  bool
	}{
		"counts": {stored("s", "1", 2, now), 2, false}, "emptied": {stored("s", "1~", 0, now), 0, false},
		"expired": {expired, 0, false}, "broken": {broken, 0, true},
	} {
		p, err := RollupPart(c.stored, now)
		if (err != nil) != c.fails || (p != nil) != (c.events > 0) || p != nil && (p.Value.Events != c.events || !p.AsOf.Equal(now)) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// TestSummariesOfItems checks which items are fragments, and of which summary.
func TestSummariesOfItems(t *testing.T) {
	b := Bucket{Entity: "e#1", Start: now}
	pk, sk := schema.RollupKey(b.Entity, b.Start, "s")
	if got, streamShard, ok := BucketOf(pk, sk); got != b || streamShard != "s" || !ok || BucketFor(b.Target()) != b || b.Label() != "2126-01-05T12" || !b.End().Equal(now.Add(time.Hour)) {
		t.Errorf("%+v, %q, %t; target %v, label %s, end %v", got, streamShard, ok, BucketFor(b.Target()), b.Label(), b.End())
	}
	p := Period{"g#1", "2026-W02"}
	hpk, hsk := schema.HistogramKey(p.Board, p.Label, "s")
	if got, streamShard, ok := PeriodOf(hpk, hsk); got != p || streamShard != "s" || !ok || p.Target().Period != p.Label {
		t.Errorf("%+v, %q, %t; target %v", got, streamShard, ok, p.Target())
	}
	for _, key := range [][2]string{{hpk, sk}, {pk, hsk}, {hpk, schema.TopSK}, {"C#a#0", "-"}, {"", ""}, {strings.Replace(hpk, "L#", "C#", 1), hsk}} {
		_, _, bucket := BucketOf(key[0], key[1])
		_, _, period := PeriodOf(key[0], key[1])
		if bucket || period {
			t.Errorf("%q is a fragment: bucket %t, period %t", key, bucket, period)
		}
	}
}

// TestReadsAreBounded checks that a summary with too many fragments is an error, and that all of its partitions are read.
func TestReadsAreBounded(t *testing.T) {
	var many []item
	for i := range maxParts {
		many = append(many, dynamo.Key("p", fmt.Sprint("s", i)))
	}
	f := &table{items: map[string][]item{"p": many, "q": nil, "r": {dynamo.Key("r", "z")}}}
	read, err := events(f).Read(t.Context(), Key{Partitions: []string{"p", "q"}, Target: "e"})
	require.NoError(t, err)
	if len(read) != maxParts || f.queries != 2 {
		t.Errorf("%d fragments in %d queries", len(read), f.queries)
	}
	if _, err := events(f).Read(t.Context(), Key{Partitions: []string{"p", "r"}, Target: "e"}); err == nil || !strings.Contains(err.Error(), "more than 20000") {
		t.Errorf("one more: %v", err)
	}
}

// TestFoldWithoutAStreamShard checks that a fold whose fragment is unknown is an error.
func TestFoldWithoutAStreamShard(t *testing.T) {
	f := &table{}
	if err := events(f).Folder(f).Fold(t.Context(), Key{Partitions: []string{"p"}}, "", now, nil); !errors.Is(err, errNoStreamShard) {
		t.Error(err)
	}
}

// TestAdvance checks which records a fold adds, and to which sequence number.
func TestAdvance(t *testing.T) {
	for _, c := range []struct {
		known   string
		records []string
		want    string
		events  int64
	}{
		{"", []string{"1", "2"}, "2", 7}, {"1", []string{"1", "2"}, "2", 6}, {"2", []string{"1", "2"}, "2", 5},
		{"1~", []string{"1", "2"}, "2", 6}, {"", []string{"1", "1"}, "1", 6}, {"3", nil, "3", 5},
	} {
		f := events(nil).Folder(nil)
		var records []Record[Rollup]
		for _, s := range c.records {
			records = append(records, Record[Rollup]{s, func(p *Rollup) { p.Events++ }})
		}
		known := part("s", c.known, 5)
		next, news := f.advance(known, records)
		if next.Sequence != c.want || next.Value.Events != c.events || news != (c.events > 5) || next.StreamShard != "s" || known.Value.Events != 5 {
			t.Errorf("%+v: %+v, %t", c, next, news)
		}
	}
}

// TestUpdateOfAFragment checks the update of a fold, and which change of a fragment it requires.
func TestUpdateOfAFragment(t *testing.T) {
	for _, c := range []struct {
		was       string
		expires   time.Time
		condition string
		removes   bool
	}{
		{"", time.Time{}, "attribute_not_exists(seq)", true},
		{"0~", now, "seq = :was", false},
		{"0", now, "seq = :was", false},
	} {
		f := &table{}
		folder := events(f).Folder(f)
		folder.known.Set("p\x00s", part("s", c.was, 1))
		err := folder.Fold(t.Context(), Key{Partitions: []string{"p"}}, "s", c.expires, []Record[Rollup]{{"2", func(p *Rollup) { p.Events++ }}, {"1", func(p *Rollup) { p.Events++ }}})
		values := f.update.ExpressionAttributeValues
		expires, _ := dynamo.Whole(values, ":expires_at")
		n, _ := dynamo.Whole(values, ":events")
		if err != nil || *f.update.ConditionExpression != c.condition || strings.Contains(*f.update.UpdateExpression, "REMOVE expires_at") != c.removes ||
			dynamo.Text(values, ":was") != c.was || dynamo.Text(values, ":seq") != "2" || n != 3 || expires != max(0, c.expires.Unix()) {
			t.Errorf("after %q: %v, %s if %s, %v", c.was, err, *f.update.UpdateExpression, *f.update.ConditionExpression, values)
		}
		f.update = nil
		if err := folder.Fold(t.Context(), Key{Partitions: []string{"p"}}, "s", c.expires, []Record[Rollup]{{"2", nil}}); err != nil || f.update != nil {
			t.Errorf("after %q: the same record again: %v, %v", c.was, err, f.update)
		}
	}
}

// TestWhatIsEmptied checks which fragments a replacement empties, with which sequence number, and which it can't.
func TestWhatIsEmptied(t *testing.T) {
	damaged := func(sequence string, age time.Duration) Part[Rollup] {
		return Part[Rollup]{StreamShard: "s", Sequence: sequence, AsOf: now.Add(-age), Damage: errors.New("x"), stored: stored("s", sequence, 1, now)}
	}
	for name, c := range map[string]struct {
		p         Part[Rollup]
		watermark string
		want      string // "" for a fragment that stays
		fails     bool
	}{
		"folded":                        {part("s", "5", 1), "", "5~", false},
		"below the watermark":           {part("s", "5", 1), "7", "7~", false},
		"above the watermark":           {part("s", "8", 1), "7", "8~", false},
		"emptied":                       {part("s", "5~", 0), "", "", false},
		"emptied, at the watermark":     {part("s", "5~", 0), "5", "", false},
		"emptied, below the watermark":  {part("s", "5~", 0), "7", "7~", false},
		"damaged and emptied":           {damaged("5~", 0), "", "5~~", false},
		"merged":                        {part(schema.MergedPart, "5", 1), "", "", false},
		"damaged":                       {damaged("5", 0), "", "5~", false},
		"without a sequence":            {damaged("", time.Hour), "", "", true},
		"without one, at a watermark":   {damaged("", time.Hour), "7", "7~", false},
		"without one, but old":          {damaged("", 49*time.Hour), "", strings.Repeat("0", 40) + "~", false},
		"without one, old, a watermark": {damaged("", 49*time.Hour), "7", "7~", false},
		"absent, with a watermark":      {Part[Rollup]{StreamShard: "other", Sequence: "1~"}, "7", "7~", false},
		"absent, with none":             {Part[Rollup]{StreamShard: "other", Sequence: "1~"}, "", "", false},
	} {
		watermarks := map[string]string{}
		if c.watermark != "" {
			watermarks["s"] = c.watermark
		}
		actions, bytes, err := events(nil).emptyActions(Key{Partitions: []string{"p"}}, []Part[Rollup]{c.p}, watermarks, now)
		got := ""
		for _, a := range actions {
			got += dynamo.Text(a.Put.Item, schema.RollupSequence)
			if at, _ := dynamo.Whole(a.Put.Item, schema.ExpiresAt); at != now.Add(48*time.Hour).Unix() {
				t.Errorf("%s: it expires at %d", name, at)
			}
		}
		if got != c.want || (err != nil) != c.fails || len(watermarks) != min(1, len(c.watermark)) || (bytes == 2<<10) != (c.want != "" && c.p.StreamShard == "s") {
			t.Errorf("%s: %q with %d bytes, %v; want %q", name, got, bytes, err, c.want)
		}
	}
}
