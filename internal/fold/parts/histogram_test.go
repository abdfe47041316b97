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
	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

var period = parts.Period{Board: "b", Label: "all"}

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// cellsRig is a table with a store over it.
type cellsRig struct {
	*testing.T
	*parts.Store[board.Histogram]
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

// put stores a part with n entries at one score; more are further attributes, nil for
// those that it lacks.
func (r *cellsRig) put(streamShard, sequence string, n int64, more item) {
	r.Helper()
	var h board.Histogram
	h.Add(7, n)
	stored := h.Attributes()
	stored["seq"] = text(sequence)
	maps.Copy(stored, dynamo.Key(schema.HistogramKey("b", "all", streamShard)))
	maps.Copy(stored, more)
	maps.DeleteFunc(stored, func(_ string, v types.AttributeValue) bool { return v == nil })
	if _, err := r.db.PutItem(r.Context(), &dynamodb.PutItemInput{TableName: &r.table, Item: stored}); err != nil {
		r.Fatal(err)
	}
}

func (r *cellsRig) read() []parts.Part[board.Histogram] {
	r.Helper()
	list, err := r.Read(r.Context(), period.Key())
	if err != nil {
		r.Fatal(err)
	}
	return list
}

// replace puts n entries in the place of all parts that were read.
func (r *cellsRig) replace(read []parts.Part[board.Histogram], n int64, floors map[string]string) error {
	var total board.Histogram
	total.Add(7, n)
	_, err := r.Replace(r.Context(), period.Key(), read, total, 0, floors)
	return err
}

// list has all parts, each as its stream shard, its sequence number and its entries.
func (r *cellsRig) list() string {
	r.Helper()
	var list []string
	for _, p := range r.read() {
		if p.StreamShard == schema.MergedPart && len(p.Sequence) > 9 { // it is made of the time
			p.Sequence = ""
		}
		list = append(list, fmt.Sprintf("%s %s %d", p.StreamShard, p.Sequence, p.Value.Total()))
	}
	return strings.Join(list, "\n")
}

func (r *cellsRig) want(want ...string) {
	r.Helper()
	if got := r.list(); got != strings.Join(want, "\n") {
		r.Errorf("%s\nwant %q", got, want)
	}
}

func TestFloorsOfHistograms(t *testing.T) {
	r := newCellsRig(t)
	for _, s := range []string{"a 05", "b 05", "c 05~", "d 05~"} {
		name, sequence, _ := strings.Cut(s, " ")
		r.put(name, sequence, 1, nil)
	}
	floors := map[string]string{"b": "06", "c": "06", "d": "05", "e": "06"}
	if err := r.replace(r.read(), 9, floors); err != nil {
		t.Fatal(err)
	}
	r.want("a 05~ 0", "b 06~ 0", "c 06~ 0", "d 05~ 1", "e 06~ 0", "~merged  9")
	if got := r.read()[0].ExpiresAt; got != r.now.Add(schema.EmptiedLifetime).Unix() {
		t.Errorf("an emptied part expires at %d", got)
	}
}

// TestWhatChangedMeanwhile refuses all, whichever part it is.
func TestWhatChangedMeanwhile(t *testing.T) {
	r := newCellsRig(t)
	broken := item{schema.HistogramCells: text("x")}
	change := map[string]func(){
		"a fold":                func() { r.put("a", "02", 3, nil) },
		"a new stream shard":    func() { r.put("z", "02", 3, nil) },
		"a damaged part":        func() { r.put("b", "03", 3, item{schema.HistogramCells: text("y")}) },
		"one that was mended":   func() { r.put("b", "03", 3, nil) },
		"another's merge":       func() { r.put(schema.MergedPart, "3", 3, nil) },
		"a merged part is gone": func() { r.remove(schema.MergedPart) },
		"a part is gone":        func() { r.remove("a") },
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
			t.Errorf("%s: %v", name, err)
		}
		if after := r.list(); after != before {
			t.Errorf("%s: %s became %s", name, before, after)
		}
	}
}

func (r *cellsRig) remove(streamShard string) {
	r.Helper()
	key := dynamo.Key(schema.HistogramKey("b", "all", streamShard))
	if _, err := r.db.DeleteItem(r.Context(), &dynamodb.DeleteItemInput{TableName: &r.table, Key: key}); err != nil {
		r.Fatal(err)
	}
}

// TestDamagedParts are replaced with their sequence number, or a floor.
func TestDamagedHistograms(t *testing.T) {
	r := newCellsRig(t)
	r.put("a", "05", 1, item{schema.HistogramCells: text("x")})
	r.put("b", "05~", 1, item{schema.HistogramCells: nil})
	r.put("c", "05", 1, item{schema.Version: text("2"), schema.AsOf: text("x")})
	r.put("d", "05", 1, item{schema.ExpiresAt: text("soon")})
	r.put(schema.MergedPart, "2", 4, item{schema.HistogramCells: text("x")})
	for _, p := range r.read() {
		if p.Damage == nil {
			t.Errorf("%s is not damaged", p.StreamShard)
		}
	}
	if err := r.replace(r.read(), 9, nil); err != nil {
		t.Fatal(err)
	}
	r.want("a 05~ 0", "b 05~~ 0", "c 05~ 0", "d 05~ 0", "~merged  9")
	r.put("e", "new", 1, nil)
	if err := r.replace(r.read(), 9, nil); err == nil || errors.Is(err, parts.ErrMoved) || !strings.Contains(err.Error(), "its last folded record is unknown") {
		t.Errorf("without a sequence number: %v", err)
	}
	if err := r.replace(r.read(), 8, map[string]string{"e": "06"}); err != nil {
		t.Fatal(err)
	}
	rested := item{schema.RollupSequence: nil, schema.AsOf: &types.AttributeValueMemberN{Value: fmt.Sprint(r.now.Add(-49 * time.Hour).UnixMilli())}}
	r.put("f", "", 1, rested)
	if err := r.replace(r.read(), 8, nil); err != nil {
		t.Fatal(err)
	}
	r.want("a 05~ 0", "b 05~~ 0", "c 05~ 0", "d 05~ 0", "e 06~ 0", "f "+strings.Repeat("0", 40)+"~ 0", "~merged  8")
}

func TestMoreHistogramsThanATransactionTakes(t *testing.T) {
	r := newCellsRig(t)
	for i := range parts.MaxReplaced + 1 {
		r.put(fmt.Sprintf("s%03d", i), "05", 1, nil)
	}
	some := r.Choose(r.read(), func(parts.Part[board.Histogram]) bool { return true })
	if len(some) != parts.MaxReplaced {
		t.Errorf("%d chosen", len(some))
	}
	if err := r.replace(r.read(), 9, nil); !errors.Is(err, parts.ErrMoved) || r.Sum(r.read()).Total() != parts.MaxReplaced+1 {
		t.Errorf("got %v, and %d entries", err, r.Sum(r.read()).Total())
	}
	if err := r.replace(r.read(), 9, nil); err != nil || r.Sum(r.read()).Total() != 9 {
		t.Errorf("after the merge: %v, and %d entries", err, r.Sum(r.read()).Total())
	}
}

// TestSum has the longest lifetime of what counts.
func TestSum(t *testing.T) {
	now := time.Unix(1000, 0)
	part := func(n, expires int64) parts.Part[board.Histogram] {
		p := parts.Part[board.Histogram]{Sequence: "1", ExpiresAt: expires}
		p.Value.Add(7, n)
		return p
	}
	emptied := part(0, 9e9)
	emptied.Sequence += schema.EmptiedSuffix
	for _, c := range []struct {
		list       []parts.Part[board.Histogram]
		n, expires int64
	}{
		{nil, 0, 0},
		{[]parts.Part[board.Histogram]{part(1, 2000), part(2, 3000), part(4, 999), emptied}, 3, 3000},
		{[]parts.Part[board.Histogram]{part(1, 2000), part(2, 0), part(4, 3000)}, 7, 0},
		{[]parts.Part[board.Histogram]{part(4, 999), {Sequence: "1", Damage: errors.New("x")}}, 0, 0},
	} {
		store := parts.NewHistograms(nil, "", func() time.Time { return now })
		expires, some := parts.Last(c.list, now)
		if got := store.Sum(c.list); got.Total() != c.n || expires != c.expires || some != (c.n > 0) {
			t.Errorf("%+v: %d entries until %d", c, got.Total(), expires)
		}
	}
}
