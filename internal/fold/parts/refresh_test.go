package parts

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// stored returns a fragment's item.
func stored(streamShard, sequence string, n int64, asOf time.Time) item {
	it := Rollup{Events: n}.Attributes()
	maps.Copy(it, dynamo.Key("p", streamShard))
	it[schema.RollupSequence] = dynamo.String(sequence)
	if !asOf.IsZero() {
		it[schema.AsOf] = dynamo.Number(asOf.UnixMilli())
	}
	return it
}

// TestRefresh checks which sum is stored for which fragments, if more than one is not few.
func TestRefresh(t *testing.T) {
	old, older := now.Add(-time.Hour), now.Add(-2*time.Hour)
	a, b := stored("a", "1", 1, older), stored("b", "1", 2, old)
	emptied := stored("c", "1~", 0, time.Time{})
	damaged := stored("d", "", 4, old)
	merged := stored(schema.MergedPart, "1", 3, now.Add(-29*time.Second))
	sumOfTwo, none := stored("", "5", 3, old), stored("", "5~", 0, old)
	for name, c := range map[string]struct {
		sum, parts []item
		begun      bool
		events     int64 // in the stored sum; -1 if none is stored
		fails      string
	}{
		"no fragments":             {nil, nil, false, -1, ""},
		"emptied ones":             {nil, []item{emptied}, false, -1, ""},
		"damaged, no sum":          {nil, []item{a, b, damaged}, false, -1, "can't be read"},
		"damaged, a sum":           {[]item{sumOfTwo}, []item{a, b, damaged}, false, 0, "can't be read"},
		"few":                      {nil, []item{a}, false, 0, ""},
		"few, and emptied ones":    {nil, []item{a, emptied}, false, 0, ""},
		"more, for the first time": {nil, []item{a, b}, true, 3, ""},
		"the older fold last":      {nil, []item{b, a}, true, 3, ""},
		"more, again":              {[]item{sumOfTwo}, []item{a, b}, false, 3, ""},
		"more, after few":          {[]item{none}, []item{a, b}, true, 3, ""},
		"few, after more":          {[]item{sumOfTwo}, []item{b}, false, 0, ""},
		"none, after more":         {[]item{sumOfTwo}, nil, false, 0, ""},
		"just merged":              {nil, []item{a, b, merged}, false, -1, "has changed since"},
	} {
		f := &table{items: map[string][]item{"sum": c.sum, "p": c.parts}}
		begun, err := events(f).Refresh(t.Context(), f, Key{Partitions: []string{"p"}}, Key{Partitions: []string{"sum"}}, 1)
		if begun != c.begun || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) || (f.update != nil) != (c.events >= 0) {
			t.Errorf("%s: begun %t, %v, stored %t", name, begun, err, f.update != nil)
			continue
		}
		if f.update == nil {
			continue
		}
		values := f.update.ExpressionAttributeValues
		n, _ := dynamo.Whole(values, ":events")
		asOf, _ := dynamo.Millis(values, ":as_of")
		sequence := dynamo.Text(values, ":seq")
		if n != c.events || strings.HasSuffix(sequence, "~") != (n == 0) || len(c.parts) > 1 && c.fails == "" && n > 0 && !asOf.Equal(old) {
			t.Errorf("%s: %d events with sequence %s of %v, want %d", name, n, sequence, asOf, c.events)
		}
		condition := aws.ToString(f.update.ConditionExpression)
		if want := map[bool]string{true: "seq = :was", false: "attribute_not_exists(seq)"}[c.sum != nil]; condition != want {
			t.Errorf("%s: on the condition %q, want %q", name, condition, want)
		}
	}
}

// TestRefreshFails checks what a failed call of a refresh returns.
func TestRefreshFails(t *testing.T) {
	two := []item{stored("a", "1", 1, now.Add(-time.Hour)), stored("b", "1", 1, now.Add(-time.Hour))}
	for name, c := range map[string]struct {
		items map[string][]item
		err   error
		moved bool
		says  string
	}{
		"the sum":       {map[string][]item{"p": two}, nil, false, "no such partition"},
		"the fragments": {map[string][]item{"sum": nil}, nil, false, "no such partition"},
		"another sum":   {map[string][]item{"p": two, "sum": nil}, &types.ConditionalCheckFailedException{}, true, ""},
		"the update":    {map[string][]item{"p": two, "sum": nil}, errors.New("down"), false, "down"},
	} {
		f := &table{items: c.items, err: c.err}
		begun, err := events(f).Refresh(t.Context(), f, Key{Partitions: []string{"p"}}, Key{Partitions: []string{"sum"}}, 1)
		if begun || err == nil || errors.Is(err, ErrMoved) != c.moved || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %t, %v", name, begun, err)
		}
	}
}

// TestFailedFolds checks what a fold returns if its update fails, or finds a fragment that can't be read.
func TestFailedFolds(t *testing.T) {
	broken := stored("s", "1", 1, now)
	broken["events"] = dynamo.String("x")
	for _, c := range []struct {
		err        error
		unreadable bool
		says       string
	}{
		{errors.New("down"), false, "down"},
		{&types.ConditionalCheckFailedException{Item: broken}, true, `folding into "p", "s"`},
		{&types.ConditionalCheckFailedException{}, false, ""}, // it was deleted
	} {
		f := &table{err: c.err}
		folder := events(f).Folder(f)
		folder.known.Set("p\x00s", part("s", "0", 7))
		added, err := folder.Fold(t.Context(), Key{Partitions: []string{"p"}}, "s", now, []Record[Rollup]{{"1", func(*Rollup) {}}})
		n, _ := dynamo.Whole(f.update.ExpressionAttributeValues, ":events")
		if added || err == nil || errors.Is(err, ErrUnreadable) != c.unreadable || !strings.Contains(err.Error(), c.says) || (n == 0) != (c.says == "") {
			t.Errorf("after %v: %t, %v, then %d events", c.err, added, err, n)
		}
	}
}

// TestFailedMerge checks that a merge whose transaction fails returns the fragments as they were read.
func TestFailedMerge(t *testing.T) {
	read := []Part[Rollup]{part("a", "1", 1), part("b", "1", 2)}
	f := &table{err: errors.New("down")}
	left, done, err := events(f).Merge(t.Context(), Key{Partitions: []string{"p"}}, read, read, 0)
	if len(left) != 2 || err == nil || done.WriteUnits != 0 {
		t.Errorf("%+v, %+v, %v", left, done, err)
	}
	f.err = nil
	left, done, err = events(f).Merge(t.Context(), Key{Partitions: []string{"p"}}, append(read, part("c", "1", 4)), read, 0)
	if err != nil || len(left) != 2 || left[0].StreamShard != "c" || left[1].Value.Events != 3 || !left[1].Merged() || done.Emptied != 2 || len(f.puts) != 3 {
		t.Errorf("%+v, %+v, %v", left, done, err)
	}
	for i, want := range []string{"seq = :was", "seq = :was", "attribute_not_exists(pk)"} {
		if got := aws.ToString(f.puts[i].Put.ConditionExpression); got != want {
			t.Errorf("put %d is on the condition %q, want %q", i, got, want)
		}
	}
}

// TestWhatHolds checks which sums a merged fragment holds. Other sums are nothing, and expire.
func TestWhatHolds(t *testing.T) {
	for _, c := range []struct {
		p    Rollup
		want bool
	}{
		{Rollup{}, false}, {Rollup{Events: 1}, true}, {Rollup{Skipped: 1}, true}, {Rollup{Restated: true}, true}, {wide(1), true},
	} {
		merged := events(nil).merged(c.p, 7, now)
		if merged.Emptied() == c.want || (merged.ExpiresAt == 7) != c.want || !c.want && merged.ExpiresAt != now.Add(48*time.Hour).Unix() {
			t.Errorf("%+v: %+v", c.p, merged)
		}
	}
}
