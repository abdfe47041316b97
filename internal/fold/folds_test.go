package fold

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestStatesOfWriteShards checks the state that each record of a counter's write shard has.
func TestStatesOfWriteShards(t *testing.T) {
	for _, c := range []struct{ event, old, newest, want string }{
		{"INSERT", "", "rev 7, value 3", "rev 7, value 3, removed false"},
		{"MODIFY", "rev 6, value 1", "rev 7, value -3", "rev 7, value -3, removed false"},
		{"REMOVE", "rev 7, value 3", "", "rev 8, value 0, removed true"},
		{"REMOVE", "rev 18446744073709551616, value 3", "", "rev 18446744073709551617, value 0, removed true"},
		{"INSERT", "", "rev 7", "lacks rev or value"}, {"INSERT", "", "value 7", "lacks rev or value"}, {"INSERT", "", "rev 0.5, value 7", "not a whole number"},
	} {
		s, err := stateOf(recordOf(t, c.event, "C#c#1", "+", "1", c.old, c.newest))
		if got := fmt.Sprintf("rev %v, value %s, removed %t", s.Rev, s.Value, s.Removed); err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}

// TestUpdateOfASummary checks the update that folds states, and that an older state replaces no newer one.
func TestUpdateOfASummary(t *testing.T) {
	states := func(rev, value string) State {
		s, err := NewState(rev, value)
		require.NoError(t, err)
		return s
	}
	changes := counterChanges{}
	changes.addState("c", 3, states("9", "5"))
	changes.addState("c", 3, states("8", "4"))
	changes.addState("c", 3, states("9", "6"))
	to := changes.addState("c", 4, states("1", "2"))
	now := time.UnixMilli(5)
	in := to.update("t", now)
	if got, want := *in.UpdateExpression, "SET v = :v, as_of = :at, r3 = :r3, x3 = :x3, r4 = :r4, x4 = :x4"; got != want || dynamo.Digits(in.ExpressionAttributeValues, ":r3") != "9" || dynamo.Digits(in.ExpressionAttributeValues, ":x3") != "5" || dynamo.Digits(in.ExpressionAttributeValues, ":at") != "5" {
		t.Errorf("%s with %v, want %s", got, in.ExpressionAttributeValues, want)
	}
	if got, want := *in.ConditionExpression, "(attribute_not_exists(r3) OR r3 < :r3) AND (attribute_not_exists(r4) OR r4 < :r4)"; got != want {
		t.Errorf("on the condition %s, want %s", got, want)
	}
	changes.addState("c", 4, states("2", "2").Removal())
	if got, want := *to.update("t", now).UpdateExpression, "SET v = :v, as_of = :at, gone = :at, r3 = :r3, x3 = :x3, r4 = :r4, x4 = :x4"; got != want {
		t.Errorf("with a removal: %s, want %s", got, want)
	}
	known, err := parseRevs(dynamo.Item{"r3": dynamo.Number(7), "x3": dynamo.Number(1), "r04": dynamo.Number(1), "rx": dynamo.Number(1), "r12": dynamo.Number(2)})
	if err != nil || len(known) != 2 || known[3].Int64() != 7 || known[12].Int64() != 2 {
		t.Errorf("the revs are %v, %v", known, err)
	}
	if _, err := parseRevs(dynamo.Item{"r3": dynamo.String("7")}); !errors.Is(err, parts.ErrUnreadable) {
		t.Errorf("a rev that is no number: %v", err)
	}
}

// TestEventChanges checks what each record of an event changes in its rollup, of 5 events before, and which records fail.
func TestEventChanges(t *testing.T) {
	const five, six, text, long = `{"M":{"t":{"N":"5"},"u":{"N":"7"},"text":{"S":"7"},"in":{"M":{"x":{"N":"1"}}},"wide":{"N":"12345678901234567"},"ünï c#ödé\"\\":{"N":"3"}}}`, `{"M":{"t":{"N":"6"}}}`, `{"S":"x"}`, "11111111111111111111111111111111111111111"
	for _, c := range []struct {
		kind, old, new, sequence string
		expired                  bool
		want                     string
	}{
		{"INSERT", "", five, "1", false, `E#h#2026-01-31T22: 6 events, t 5, u 7, ünï c#ödé"\ 3, 1 skipped`},
		{"INSERT", "", text, "1", false, "not a map"},
		{"INSERT", "", five, long, false, "sequence number"},
		{"MODIFY", five, five, "1", false, ""},
		{"MODIFY", five, five, long, false, ""},
		{"MODIFY", five, six, "1", false, `E#h#2026-01-31T22: 5 events, t 1, u -7, ünï c#ödé"\ -3, -1 skipped`},
		{"MODIFY", text, six, "1", false, "E#h#2026-01-31T22: 6 events, t 6, 0 skipped"},
		{"MODIFY", five, text, "1", false, `E#h#2026-01-31T22: 4 events, t -5, u -7, ünï c#ödé"\ -3, -1 skipped; reading an event of "h": its attribute data is not a map`},
		{"REMOVE", five, "", "1", false, `E#h#2026-01-31T22: 4 events, t -5, u -7, ünï c#ödé"\ -3, -1 skipped`},
		{"REMOVE", five, "", "1", true, ""},
		{"REMOVE", text, "", "1", false, ""},
		{"REMOVE", five, "", long, false, "sequence number"},
	} {
		batch, err := ddbstream.Decode(windowed("s", happening{kind: c.kind, entity: "h", id: "x", at: start, old: c.old, new: c.new, sequence: c.sequence}))
		require.NoError(t, err)
		batch.Records[0].Expired = c.expired
		changes, got := newChangesByBucket("s"), ""
		err = changes.addRecord(&batch.Records[0])
		for of, b := range changes.list {
			p := parts.Rollup{Events: 5}.Clone()
			b.records[0].Apply(&p)
			got = fmt.Sprintf("%v: %d events", of.Target(), p.Events)
			for _, field := range slices.Sorted(maps.Keys(p.Measures)) {
				got += fmt.Sprintf(", %s %s", field, p.Measures[field].Sum)
			}
			got += fmt.Sprintf(", %d skipped", p.Skipped)
		}
		if err != nil && got != "" {
			got, err = fmt.Sprintf("%s; %v", got, err), nil
		}
		if err != nil && (!strings.Contains(err.Error(), c.want) || c.want == "") || err == nil && got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	r := recordOf(t, "INSERT", "E#h#2026-01-31#0", schema.EventSortKey(start, "x"), "1", "", "")
	for _, r.Name = range []ddbstream.Name{ddbstream.Insert, ddbstream.Modify, ddbstream.Remove} {
		if err := newChangesByBucket("s").addRecord(r); err == nil || !strings.Contains(err.Error(), "lacks an image") {
			t.Errorf("%v without an image: %v", r.Name, err)
		}
	}
}

// TestTargets checks the targets of items and of stored summaries.
func TestTargets(t *testing.T) {
	at := schema.EventSortKey(time.Date(2026, 1, 5, 13, 30, 0, 0, time.UTC), "x")
	for _, c := range []struct{ pk, sk, want string }{
		{"C#c#1", "+", "C#c#0"}, {"C#c#63", "+", "C#c#0"}, {"C#c#64", "+", "C#c#1"}, {"C#c#0", "+", ""}, {"C#c#1", "-", ""}, {"C#c", "+", ""},
		{"E#e#2026-01-05#0", at, "E#e#2026-01-05T13"}, {"E#e#2026-01-06#0", at, ""},
		{"E#e#2026-01-05#0", "x", ""}, {"S#g#0", "x", ""}, {"", "", ""},
	} {
		got, ok := Target(c.pk, c.sk)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%q, %q: %v, %t; want %s", c.pk, c.sk, got, ok, c.want)
		}
	}
	histogram := func() (string, string) { return schema.HistogramKey("b", "all", "s") }
	hpk, hsk := histogram()
	for _, c := range []struct{ pk, sk, want string }{
		{"C#c#1", "-", "C#c#1"}, {"C#c#1", "+", ""}, {"L#b#all", schema.TopSK, "L#b#all"}, {"L#b#all", "x", ""},
		{hpk, hsk, "L#b#all"}, {"S#g#0", "x", ""},
	} {
		got, ok := TargetOf(c.pk, c.sk)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("stored %q, %q: %v, %t; want %s", c.pk, c.sk, got, ok, c.want)
		}
	}
}

// TestPermanentErrors checks which errors would recur with the same records.
func TestPermanentErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{parts.ErrUnreadable, true}, {fmt.Errorf("more: %w", parts.ErrUnreadable), true}, {errors.New("other"), false}, {shard.ErrThrottled, false},
		{&smithy.GenericAPIError{Code: "ValidationException"}, true}, {&smithy.GenericAPIError{Code: "InternalServerError"}, false},
	} {
		if got := isPermanent(c.err); got != c.want {
			t.Errorf("%v is permanent: %t", c.err, got)
		}
	}
	if !isTemporary(t.Context(), shard.ErrThrottled) || !isTemporary(t.Context(), shard.ErrUnavailable) || !isTemporary(t.Context(), context.DeadlineExceeded) || isTemporary(t.Context(), errors.New("damaged")) {
		t.Error("throttled, unavailable and late reads are temporary, damaged items are not")
	}
	for err, unreadable := range map[error]bool{shard.ErrThrottled: false, errors.New("damaged"): true} {
		if got := new(topFolder).unreadableErr(t.Context(), err); !errors.Is(got, err) || errors.Is(got, parts.ErrUnreadable) != unreadable {
			t.Errorf("%v is unreadable: %v", err, got)
		}
	}
}

// TestStoredFailures checks what a failure has: its count, its last record, and a short reason.
func TestStoredFailures(t *testing.T) {
	d := &delivery{Handler: &Handler{table: "t", now: func() time.Time { return time.UnixMilli(7) }}, batch: &ddbstream.Batch{ShardID: "s"}}
	in := d.failureUpdate("C#c#0", &loss{errors.New(strings.Repeat("é", 301)), []string{"9", "10", "2"}})
	values := in.ExpressionAttributeValues
	if dynamo.Text(values, ":sequence") != "10" || dynamo.Digits(values, ":n") != "3" || dynamo.Digits(values, ":at") != "7" || dynamo.Text(values, ":reason") != strings.Repeat("é", 300) ||
		dynamo.Text(values, ":shard") != "s" || !strings.Contains(*in.UpdateExpression, "stream_shard = :shard ADD failures :n") {
		t.Errorf("%s with %v", *in.UpdateExpression, values)
	}
	d.batch.ShardID = ""
	if in := d.failureUpdate("C#c#0", &loss{errors.New("x"), []string{"9"}}); strings.Contains(*in.UpdateExpression, "stream_shard") {
		t.Errorf("without a stream shard: %s", *in.UpdateExpression)
	}
}

// TestExpiryOfRollups checks when a fragment expires that a fold writes.
func TestExpiryOfRollups(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, c := range []struct{ retention, end, want time.Duration }{{0, 0, math.MinInt64}, {50, -10, 50}, {50, 0, 50}, {50, 10, 60}} {
		f := &eventFolder{retention: c.retention, now: func() time.Time { return now }}
		if got := f.expiry(now.Add(c.end)); !got.Equal(now.Add(c.want)) && !(c.retention == 0 && got.IsZero()) {
			t.Errorf("%+v: %v", c, got.Sub(now))
		}
	}
	for retention, valid := range map[time.Duration]bool{0: true, 24 * time.Hour: true, 24*time.Hour - 1: false, -1: false} {
		if err := (Settings{RollupsTable: "t", RollupRetention: retention}).Validate(); (err == nil) != valid {
			t.Errorf("a retention of %v: %v", retention, err)
		}
	}
}
