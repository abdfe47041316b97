package parts_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

var period = parts.Period{Board: "b", Label: "all"}

// cellsRig is a rollups table with a store of histograms.
type cellsRig struct {
	*testing.T
	*parts.Store[parts.Histogram]
	db    *dynamodb.Client
	table string
	now   time.Time
}

func newCellsRig(t *testing.T) *cellsRig {
	t.Helper()
	db := enginetest.Client(t)
	r := &cellsRig{T: t, db: db, table: enginetest.Tables(t, db).Rollups, now: enginetest.Later}
	r.Store = parts.NewHistograms(db, r.table, func() time.Time { return r.now })
	return r
}

// put stores a fragment with n entries of one score. It adds the attributes more, and removes those that are
// nil.
func (r *cellsRig) put(streamShard, sequence string, n int64, more item) {
	r.Helper()
	var h parts.Histogram
	h.Add(7, n)
	stored := h.Attributes()
	stored["seq"] = dynamo.String(sequence)
	maps.Copy(stored, dynamo.Key(schema.HistogramKey("b", "all", streamShard)))
	maps.Copy(stored, more)
	maps.DeleteFunc(stored, func(_ string, v types.AttributeValue) bool { return v == nil })
	enginetest.Put(r, r.db, r.table, stored)
}

func (r *cellsRig) read() []parts.Part[parts.Histogram] {
	r.Helper()
	list, err := r.Read(r.Context(), period.Key())
	require.NoError(r, err)
	return list
}

// replace replaces the read fragments by n entries.
func (r *cellsRig) replace(read []parts.Part[parts.Histogram], n int64, watermarks map[string]string) error {
	var total parts.Histogram
	total.Add(7, n)
	_, err := r.Replace(r.Context(), period.Key(), read, total, 0, watermarks)
	return err
}

// list returns each fragment's stream shard, sequence number and number of entries.
func (r *cellsRig) list() string {
	r.Helper()
	var list []string
	for _, p := range r.read() {
		if p.StreamShard == schema.MergedPart && len(p.Sequence) > 9 { // it depends on the time
			p.Sequence = ""
		}
		list = append(list, fmt.Sprintf("%s %s %d", p.StreamShard, p.Sequence, p.Value.Total()))
	}
	return strings.Join(list, "\n")
}

func (r *cellsRig) want(want ...string) {
	r.Helper()
	if got := r.list(); got != strings.Join(want, "\n") {
		r.Errorf("fragments:\n%s\nwant %q", got, want)
	}
}

// TestChangesBetweenReadAndReplace checks that Replace writes nothing after any change of the fragments.
func TestChangesBetweenReadAndReplace(t *testing.T) {
	r := newCellsRig(t)
	broken := item{schema.HistogramCells: dynamo.String("x")}
	change := map[string]func(){
		"a fold":              func() { r.put("a", "02", 3, nil) },
		"a new stream shard":  func() { r.put("z", "02", 3, nil) },
		"a damaged fragment":  func() { r.put("b", "03", 3, item{schema.HistogramCells: dynamo.String("y")}) },
		"a repaired fragment": func() { r.put("b", "03", 3, nil) },
		"a concurrent merge":  func() { r.put(schema.MergedPart, "3", 3, nil) },
		"no merged fragment":  func() { r.remove(schema.MergedPart) },
		"no fragment":         func() { r.remove("a") },
	}
	for name, change := range change {
		r.put("a", "01", 1, nil)
		r.put("b", "03", 1, broken)
		r.put(schema.MergedPart, "2", 4, nil)
		r.remove("z")
		read := r.read()
		change()
		before := r.list()
		if err := r.replace(read, 5, map[string]string{"z": "01"}); !errors.Is(err, parts.ErrMoved) {
			t.Errorf("%s: %v, want ErrMoved", name, err)
		}
		if after := r.list(); after != before {
			t.Errorf("%s: the fragments were %s and are %s", name, before, after)
		}
	}
}

func (r *cellsRig) remove(streamShard string) {
	r.Helper()
	pk, sk := schema.HistogramKey("b", "all", streamShard)
	enginetest.Delete(r, r.db, r.table, pk, sk)
}

// TestDamagedFragments checks that damaged fragments are named, and replaced if their sequence number, a low
// watermark or a long rest allows it.
func TestDamagedFragments(t *testing.T) {
	r := newCellsRig(t)
	r.put("a", "05", 1, item{schema.HistogramCells: dynamo.String("x")})
	r.put("b", "05~", 1, item{schema.HistogramCells: nil})
	r.put("c", "05", 1, item{schema.Version: dynamo.String("2"), schema.AsOf: dynamo.String("x")})
	r.put("d", "05", 1, item{schema.ExpiresAt: dynamo.String("soon")})
	r.put(schema.MergedPart, "2", 4, item{schema.HistogramCells: dynamo.String("x")})
	for _, p := range r.read() {
		if p.Damage == nil {
			t.Errorf("%s is not damaged", p.StreamShard)
		}
	}
	if err := parts.Damage(r.read()); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("the damage does not name fragment a: %v", err)
	}
	require.NoError(t, r.replace(r.read(), 9, nil))
	r.want("a 05~ 0", "b 05~~ 0", "c 05~ 0", "d 05~ 0", "~merged  9")
	r.put("e", "new", 1, nil)
	if err := r.replace(r.read(), 9, nil); err == nil || errors.Is(err, parts.ErrMoved) || !strings.Contains(err.Error(), "its last folded record is unknown") {
		t.Errorf("without a sequence number: %v", err)
	}
	require.NoError(t, r.replace(r.read(), 8, map[string]string{"e": "06"}))
	rested := item{schema.RollupSequence: nil, schema.AsOf: &types.AttributeValueMemberN{Value: fmt.Sprint(r.now.Add(-49 * time.Hour).UnixMilli())}}
	r.put("f", "", 1, rested)
	require.NoError(t, r.replace(r.read(), 8, nil))
	r.want("a 05~ 0", "b 05~~ 0", "c 05~ 0", "d 05~ 0", "e 06~ 0", "f "+strings.Repeat("0", 40)+"~ 0", "~merged  8")
}

// TestMoreFragmentsThanATransactionTakes checks that Replace merges as many as it can and returns ErrMoved,
// and that the next call replaces the rest.
func TestMoreFragmentsThanATransactionTakes(t *testing.T) {
	r := newCellsRig(t)
	for i := range parts.MaxReplaced + 1 {
		r.put(fmt.Sprintf("s%03d", i), "05", 1, nil)
	}
	some := r.Choose(r.read(), func(parts.Part[parts.Histogram]) bool { return true })
	if len(some) != parts.MaxReplaced {
		t.Errorf("%d fragments chosen, want %d", len(some), parts.MaxReplaced)
	}
	if err := r.replace(r.read(), 9, nil); !errors.Is(err, parts.ErrMoved) || r.Sum(r.read()).Total() != parts.MaxReplaced+1 {
		t.Errorf("the first call: %v, and %d entries; want ErrMoved, and all", err, r.Sum(r.read()).Total())
	}
	if err := r.replace(r.read(), 9, nil); err != nil || r.Sum(r.read()).Total() != 9 {
		t.Errorf("the second call: %v, and %d entries; want 9", err, r.Sum(r.read()).Total())
	}
	many := map[string]string{}
	for i := range parts.MaxReplaced + 1 {
		many[fmt.Sprint("w", i)] = "05"
	}
	if err := r.replace(nil, 9, many); err == nil || errors.Is(err, parts.ErrMoved) {
		t.Errorf("more low watermarks than a transaction takes: %v, want another error than ErrMoved", err)
	}
}
