package parts_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestRead checks that Read returns the fragments of one rollup in order, the merged one last.
func TestRead(t *testing.T) {
	r := newRig(t)
	r.fold(t, 0, "e", "shardId-2", 0, 3)
	r.fold(t, 0, "e", "shardId-1", 0, 2)
	r.fold(t, 0, "e#1", "shardId-1", 0, 9)
	read := r.read(t, "e")
	if len(read) != 2 || read[0].StreamShard != "shardId-1" || read[0].Value.Events != 2 || read[1].Value.Events != 3 || read[1].ExpiresAt != 0 {
		t.Fatalf("fragments %+v, want two with 2 and 3 events", read)
	}
	r.merge(t, "e")
	if read = r.read(t, "e"); len(read) != 3 || read[2].StreamShard != schema.MergedPart || read[2].Value.Events != 5 || read[2].AsOf.IsZero() {
		t.Fatalf("fragments after a merge: %+v, want a third with 5 events", read)
	}
	if day, err := r.store.Read(t.Context(), parts.Bucket{Entity: "e", Width: shard.Day, Start: hour}.Key()); err != nil || len(day) != 0 {
		t.Fatalf("fragments of the day: %+v, %v; want none", day, err)
	}
}

// TestFoldBetweenReadAndReplace checks that Replace fails and writes nothing after a fold or a merge since
// the read.
func TestFoldBetweenReadAndReplace(t *testing.T) {
	r := newRig(t)
	r.fold(t, 0, "e", "a", 0, 3)
	r.fold(t, 0, "e", "b", 0, 2)
	read := r.read(t, "e")
	r.fold(t, 1, "e", "b", 0, 4)
	before := asJSON(t, r.read(t, "e"))
	if err := r.replace("e", read); !errors.Is(err, parts.ErrMoved) || !strings.Contains(err.Error(), "E#e#") {
		t.Fatalf("after a fold: %v, want ErrMoved that names the rollup", err)
	}
	if after := asJSON(t, r.read(t, "e")); after != before {
		t.Fatalf("the fragments were %s and are %s", before, after)
	}
	r.check(t, "e", 3, 4)
	r.merge(t, "e")
	if err := r.replace("e", read); !errors.Is(err, parts.ErrMoved) {
		t.Fatalf("after the first merge: %v, want ErrMoved", err)
	}
	stale := r.read(t, "e")
	r.merge(t, "e")
	if err := r.replace("e", stale); !errors.Is(err, parts.ErrMoved) {
		t.Fatalf("after another merge: %v, want ErrMoved", err)
	}
	r.check(t, "e", 3, 4)
}

// TestFoldsAfterAMerge checks that an emptied fragment counts new records and no redelivered ones. One
// container has cached its old state, and the other has not.
func TestFoldsAfterAMerge(t *testing.T) {
	r := newRig(t)
	r.fold(t, 0, "e", "a", 0, 5)
	r.fold(t, 0, "e", "b", 0, 2)
	r.merge(t, "e")
	emptied := r.item(t, "e", "a")
	if at, _ := dynamo.Whole(emptied, schema.ExpiresAt); time.Until(time.Unix(at, 0)) < 47*time.Hour {
		t.Errorf("the emptied fragment expires at %d, want 48 h from now", at)
	}
	r.check(t, "e", 5, 2)
	r.fold(t, 0, "e", "a", 0, 5)
	r.fold(t, 1, "e", "a", 3, 5)
	if after := r.item(t, "e", "a"); asJSON(t, after) != asJSON(t, emptied) {
		t.Fatalf("after redeliveries the emptied fragment is %v, want %v", after, emptied)
	}
	r.fold(t, 0, "e", "a", 2, 7)
	r.fold(t, 1, "e", "a", 4, 8)
	r.check(t, "e", 8, 2)
	part := r.read(t, "e")[0]
	if part.Value.Events != 3 || part.ExpiresAt != 0 || strings.HasSuffix(part.Sequence, schema.EmptiedSuffix) {
		t.Fatalf("the fragment is %+v, want 3 events and no expiry", part)
	}
	r.merge(t, "e")
	r.check(t, "e", 8, 2)
}

// TestReplaceByAnyTotal checks that the merged fragment has the caller's total, and that an empty total
// leaves nothing.
func TestReplaceByAnyTotal(t *testing.T) {
	r := newRig(t)
	b := bucketOf("e").Key()
	var total measures.Part
	total = total.Clone()
	total.Add(map[string]string{"t": "0"})
	if _, err := r.store.Replace(t.Context(), b, nil, total, 0, nil); err != nil {
		t.Fatal(err)
	}
	r.check(t, "e", 1)
	r.fold(t, 0, "e", "a", 0, 3)
	if _, err := r.store.Replace(t.Context(), b, r.read(t, "e"), measures.Part{}, 0, nil); err != nil {
		t.Fatal(err)
	}
	r.check(t, "e")
	for _, p := range r.read(t, "e") {
		if !p.Emptied() || p.ExpiresAt == 0 {
			t.Errorf("a fragment is not emptied: %+v", p)
		}
	}
}

// TestLowWatermarks checks that no record up to a stream shard's low watermark is added after a Replace, and
// that all later ones are. Fragments have events, were emptied, or are absent.
func TestLowWatermarks(t *testing.T) {
	r := newRig(t)
	r.fold(t, 0, "e", "emptied", 0, 2)
	r.merge(t, "e")
	r.fold(t, 0, "e", "holds", 0, 3)
	r.fold(t, 0, "e", "ahead", 0, 9)
	r.fold(t, 0, "e", "other", 0, 4)
	watermarks := map[string]string{"emptied": watermark(6), "holds": watermark(7), "ahead": watermark(1), "absent": watermark(5)}
	total := eventsOf(6, 7, 9, 5, 4)
	done, err := r.store.Replace(t.Context(), bucketOf("e").Key(), r.read(t, "e"), total, 0, watermarks)
	if err != nil || done.WriteUnits != 2*6 || done.Merged.Value.Events != 31 {
		t.Fatalf("Replace returned %+v, %v; want 12 write units and 31 events", done, err)
	}
	absent := r.item(t, "e", "absent")
	if absent["v"] == nil || absent["expires_at"] == nil || asJSON(t, absent["seq"]) != asJSON(t, dynamo.String(watermark(5)+"~")) {
		t.Errorf("the absent fragment is %v, want an emptied one at its watermark", absent)
	}
	for _, container := range []int{0, 1} {
		for streamShard, to := range map[string]int{"emptied": 6, "holds": 7, "ahead": 9, "absent": 5, "other": 4} {
			r.fold(t, container, "e", streamShard, 0, to)
		}
	}
	r.check(t, "e", 6, 7, 9, 5, 4)
	for _, streamShard := range []string{"emptied", "holds", "ahead", "absent", "other"} {
		r.fold(t, 0, "e", streamShard, 3, 12)
	}
	r.check(t, "e", 12, 12, 12, 12, 12)
	read := r.read(t, "e")
	r.fold(t, 0, "e", "new", 0, 1)
	if _, err := r.store.Replace(t.Context(), bucketOf("e").Key(), read, total, 0, map[string]string{"new": watermark(1)}); !errors.Is(err, parts.ErrMoved) {
		t.Errorf("a new fragment since the read: %v, want ErrMoved", err)
	}
	many := map[string]string{}
	for i := range parts.MaxReplaced + 1 {
		many[fmt.Sprint("s", i)] = watermark(1)
	}
	if _, err := r.store.Replace(t.Context(), bucketOf("none").Key(), nil, total, 0, many); err == nil || errors.Is(err, parts.ErrMoved) {
		t.Errorf("more watermarks than a transaction takes: %v, want another error than ErrMoved", err)
	}
}
