package parts_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestMeasurable checks which numbers can be rolled up, and their canonical text.
func TestMeasurable(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "0E+10": "0", "21.5": "21.5", "-3": "-3", "1E+3": "1000", "1.50e-3": "0.0015", "007.10": "7.1",
		"999999999999999": "999999999999999", "1E15": "1000000000000000", "-1000000000000000": "-1000000000000000",
		"0.000000000000001": "0.000000000000001", "12345.1234567891": "12345.1234567891",
		"1000000000000000000": "", "1000000000000001": "", "1234567890123456": "", "1.1e15": "", "2e15": "", "1e-16": "",
		"0.1234567890123456": "", "": "", "-": "", ".": "", "x": "", "1e": "", "1e99999999999999999999": "", "NaN": "", "+1": "", "1_0": "",
	} {
		got, ok := parts.Measurable(text)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q: %v, %t; want %q", text, got, ok, want)
		}
	}
}

// number draws a number that can be rolled up.
func number(t *rapid.T) string {
	digits := rapid.StringMatching(`-?[1-9][0-9]{0,14}`).Draw(t, "digits")
	powers := 15 - len(strings.TrimPrefix(digits, "-"))
	return fmt.Sprintf("%se%d", digits, rapid.IntRange(-15, powers).Draw(t, "power"))
}

// TestSumsAreExact compares the measures of two fragments with rational numbers.
func TestSumsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.Custom(number), 1, 30).Draw(t, "numbers")
		cut := rapid.IntRange(0, len(numbers)).Draw(t, "cut")
		var fragments [2]parts.Rollup
		sum, low, high := new(big.Rat), (*big.Rat)(nil), (*big.Rat)(nil)
		for i, text := range numbers {
			part := &fragments[0]
			if i >= cut {
				part = &fragments[1]
			}
			*part = part.Clone()
			part.Add(map[string]string{"x": text})
			x := rat(t, text)
			sum.Add(sum, x)
			if low == nil || x.Cmp(low) < 0 {
				low = x
			}
			if high == nil || x.Cmp(high) > 0 {
				high = x
			}
		}
		var all parts.Rollup
		all.Merge(stored(t, fragments[0]))
		all.Merge(stored(t, fragments[1]))
		m := all.Measures["x"]
		if all.Events != int64(len(numbers)) || m.N != all.Events || all.Skipped != 0 {
			t.Fatalf("got %+v", all)
		}
		same(t, "sum", m.Sum, sum)
		same(t, "min", m.Min, low)
		same(t, "max", m.Max, high)
		mean := new(big.Rat).Quo(sum, big.NewRat(m.N, 1))
		if got := rat(t, m.Avg().String()).FloatString(15); got != mean.FloatString(15) {
			t.Fatalf("mean %s, want %s", got, mean.FloatString(15))
		}
	})
}

func rat(t *rapid.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is not a number", text)
	}
	return r
}

func same(t *rapid.T, what string, got parts.Decimal, want *big.Rat) {
	if rat(t, got.String()).Cmp(want) != 0 {
		t.Fatalf("%s %s, want %s", what, got, want.FloatString(20))
	}
	text, err := json.Marshal(got)
	if err != nil || string(text) != got.String() {
		t.Fatalf("%s as JSON: %s, %v", what, text, err)
	}
}

// stored returns a fragment as it is read back from its item.
func stored(t *rapid.T, p parts.Rollup) parts.Rollup {
	if p.Events == 0 {
		return p
	}
	got, err := parts.ParseRollup(p.Attributes())
	if err != nil || fmt.Sprint(got) != fmt.Sprint(p) {
		t.Fatalf("%+v was read as %+v, %v", p, got, err)
	}
	return got
}

// TestBounds checks that a fragment skips wide numbers, bad names and fields above its limit, and counts them.
func TestBounds(t *testing.T) {
	p := parts.Rollup{}.Clone()
	many := map[string]string{"wide": "1234567890123456", strings.Repeat("x", parts.MaxFieldName+1): "1", "": "1"}
	for i := range parts.MaxMeasures + 5 {
		many[fmt.Sprintf("f%02d", i)] = "1"
	}
	p.Add(many)
	if len(p.Measures) != parts.MaxMeasures || p.Skipped != 8 || p.Events != 1 {
		t.Fatalf("%d measures, %d skipped; want %d and 8", len(p.Measures), p.Skipped, parts.MaxMeasures)
	}
	p.Add(map[string]string{"f00": "2", "g": "1"})
	if p.Measures["f00"].Sum.String() != "3" || p.Skipped != 9 {
		t.Errorf("f00 must have sum 3 and 9 numbers be skipped: %+v", p)
	}
}

// TestSumsFitIntoANumber checks that a sum never has more than the 38 digits of DynamoDB's numbers.
func TestSumsFitIntoANumber(t *testing.T) {
	sum, err := parts.StoredDecimal("9999999999999999999999" + ".999999999999999")
	require.NoError(t, err)
	p := parts.Rollup{Measures: map[string]parts.Measure{"x": {N: 1e9, Sum: sum, Min: sum, Max: sum}}}
	for range 12 {
		p.Add(map[string]string{"x": "999999999999999"})
	}
	p.Add(map[string]string{"x": "0.000000000000001"})
	if p.Skipped != 0 {
		t.Fatalf("skipped %d of a sum of %s", p.Skipped, p.Measures["x"].Sum)
	}
	full, _ := parts.StoredDecimal("99999999999999999999999" + ".999999999999999")
	p.Measures["x"] = parts.Measure{N: 1e9, Sum: full, Min: full, Max: full}
	p.Add(map[string]string{"x": "1"})
	if p.Skipped != 1 || p.Measures["x"].Sum.Cmp(full) != 0 {
		t.Errorf("skipped %d, sum %s; want 1, and the sum unchanged", p.Skipped, p.Measures["x"].Sum)
	}
	if got, err := parts.StoredDecimal("999999999999999999999999" + ".999999999999999"); err == nil {
		t.Errorf("a number of 39 digits is read: %s", got)
	}
	p.Add(map[string]string{"x": "0.000000000000001"})
	if got := p.Measures["x"].Sum.String(); got != "100000000000000000000000" || p.Skipped != 1 {
		t.Errorf("skipped %d, sum %s; want 1, and 1e23", p.Skipped, got)
	}
}

// TestSubtract subtracts events from the fragment that they were added to, or from another one, and narrows the sum.
// Numbers are as they are written by showPart.
func TestSubtract(t *testing.T) {
	type numbers = map[string]string
	one, two, wide := numbers{"x": "1"}, numbers{"x": "2", "y": "-5"}, numbers{"x": "3", "w": "1234567890123456"}
	for _, c := range []struct {
		added, gone []numbers
		sum, narrow string
		left        []numbers
	}{
		{[]numbers{one, two}, []numbers{one}, "1, 0 skipped, x 1 2 1 2, y 1 -5 -5 -5", "1, 0 skipped, x 1 2 2 2, y 1 -5 -5 -5", []numbers{two}},
		{[]numbers{one, two}, []numbers{two}, "1, 0 skipped, x 1 1 1 2, y 0 0 -5 -5", "1, 0 skipped, x 1 1 1 1", []numbers{one}},
		{[]numbers{one, wide}, []numbers{wide}, "1, 0 skipped, x 1 1 1 3", "1, 0 skipped, x 1 1 1 1", []numbers{one}},
		{[]numbers{one, wide}, []numbers{one}, "1, 1 skipped, x 1 3 1 3", "1, 1 skipped, x 1 3 3 3", []numbers{wide}},
		{[]numbers{two, one}, []numbers{one, two}, "0, 0 skipped, x 0 0 1 2, y 0 0 -5 -5", "0, 0 skipped", nil},
		{nil, []numbers{two}, "-1, 0 skipped, x -1 -2 1000000000000000 -1000000000000000, y -1 5 1000000000000000 -1000000000000000", "", nil},
		{[]numbers{one}, []numbers{two, wide}, "-1, -1 skipped, x -1 -4 1 1, y -1 5 1000000000000000 -1000000000000000", "", nil},
	} {
		together, apart := parts.Rollup{}.Clone(), [2]parts.Rollup{parts.Rollup{}.Clone(), parts.Rollup{}.Clone()}
		for _, n := range c.added {
			together.Add(n)
			apart[0].Add(n)
		}
		for _, n := range c.gone {
			together.Subtract(n)
			apart[1].Subtract(n)
		}
		var sum parts.Rollup
		for _, p := range apart {
			read, err := parts.ParseRollup(p.Attributes())
			require.NoError(t, err)
			sum.Merge(read)
		}
		if got := showPart(together); got != c.sum || showPart(sum) != c.sum {
			t.Errorf("%v without %v: %s in one fragment, %s in two; want %s", c.added, c.gone, got, showPart(sum), c.sum)
		}
		extremes, want := parts.Extremes{}, parts.Rollup{}.Clone()
		for _, n := range c.left {
			extremes.Add(n)
			want.Add(n)
		}
		narrow, changed := sum.Narrow(extremes)
		if got := showPart(narrow); c.narrow != "" && (got != c.narrow || !changed || !narrow.Same(want)) {
			t.Errorf("%v without %v: narrowed to %s, %t; want %s", c.added, c.gone, got, changed, c.narrow)
		}
		if again, changed := narrow.Narrow(extremes); changed || !again.Same(narrow) {
			t.Errorf("%v without %v: narrowed again to %s", c.added, c.gone, showPart(again))
		}
	}
}

// showPart returns the events, skipped numbers, and n, sum, min and max of each field.
func showPart(p parts.Rollup) string {
	text := fmt.Sprintf("%d, %d skipped", p.Events, p.Skipped)
	for _, field := range slices.Sorted(maps.Keys(p.Measures)) {
		m := p.Measures[field]
		text += fmt.Sprintf(", %s %d %s %s %s", field, m.N, m.Sum, m.Min, m.Max)
	}
	return text
}

// TestSameFragments checks which changes make a fragment another one.
func TestSameFragments(t *testing.T) {
	one := parts.Measure{N: 2, Sum: exact("3"), Min: exact("1"), Max: exact("2")}
	for name, c := range map[string]struct {
		change func(m *parts.Measure, p *parts.Rollup)
		want   bool
	}{
		"equal":   {func(*parts.Measure, *parts.Rollup) {}, true},
		"events":  {func(_ *parts.Measure, p *parts.Rollup) { p.Events++ }, false},
		"skipped": {func(_ *parts.Measure, p *parts.Rollup) { p.Skipped++ }, false},
		"count":   {func(m *parts.Measure, _ *parts.Rollup) { m.N++ }, false},
		"sum":     {func(m *parts.Measure, _ *parts.Rollup) { m.Sum = exact("4") }, false},
		"minimum": {func(m *parts.Measure, _ *parts.Rollup) { m.Min = exact("0") }, false},
		"maximum": {func(m *parts.Measure, _ *parts.Rollup) { m.Max = exact("3") }, false},
		"nothing left of y": {func(_ *parts.Measure, p *parts.Rollup) {
			p.Measures["y"] = parts.Measure{Min: exact("1"), Max: exact("1")}
		}, true},
		"numbers of y": {func(_ *parts.Measure, p *parts.Rollup) { p.Measures["y"] = parts.Measure{N: 1} }, false},
		"a sum of y":   {func(_ *parts.Measure, p *parts.Rollup) { p.Measures["y"] = parts.Measure{Sum: exact("1")} }, false},
	} {
		m, p := one, parts.Rollup{Events: 2, Measures: map[string]parts.Measure{}}
		c.change(&m, &p)
		p.Measures["x"] = m
		of := parts.Rollup{Events: 2, Measures: map[string]parts.Measure{"x": one}}
		if p.Same(of) != c.want || of.Same(p) != c.want {
			t.Errorf("%s: %t and %t", name, p.Same(of), of.Same(p))
		}
	}
}

func exact(text string) parts.Decimal {
	d, _ := parts.Measurable(text)
	return d
}

// TestCloneIsIndependent checks that a change of a fragment does not change its clone.
func TestCloneIsIndependent(t *testing.T) {
	p := parts.Rollup{}.Clone()
	p.Add(map[string]string{"x": "1"})
	before := p.Clone()
	p.Add(map[string]string{"x": "2", "y": "3"})
	if m := before.Measures; len(m) != 1 || m["x"].Sum.String() != "1" || m["x"].Max.String() != "1" || before.Events != 1 {
		t.Errorf("the clone is now %+v", before)
	}
}

// TestStoredForm checks the stored attributes, and that Parse names a bad one.
func TestStoredForm(t *testing.T) {
	p := parts.Rollup{Skipped: 2}.Clone()
	p.Add(map[string]string{"t": "-1.5"})
	n := func(text string) types.AttributeValue { return dynamo.Decimal(text) }
	want := map[string]types.AttributeValue{
		"v": n("1"), "events": n("1"), "skipped": n("2"),
		"measures": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
			"t": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
				"n": n("1"), "sum": n("-1.5"), "min": n("-1.5"), "max": n("-1.5"),
			}},
		}},
	}
	if got := p.Attributes(); !reflect.DeepEqual(got, want) {
		t.Errorf("stored as %s, want %s", show(t, got), show(t, want))
	}
	for name, bad := range map[string]types.AttributeValue{
		"v": n("2"), "events": n("x"), "measures": n("1"), "skipped": n("x"),
	} {
		attributes := p.Attributes()
		for _, bad := range []types.AttributeValue{bad, &types.AttributeValueMemberNULL{Value: true}} {
			attributes[name] = bad
			if got, err := parts.ParseRollup(attributes); err == nil {
				t.Errorf("a bad %s was read as %+v", name, got)
			}
		}
		delete(attributes, name)
		if got, err := parts.ParseRollup(attributes); err == nil && name != schema.RollupSkipped {
			t.Errorf("without %s it was read as %+v", name, got)
		}
	}
	attributes := p.Attributes()
	of := attributes["measures"].(*types.AttributeValueMemberM).Value
	of[""] = of["t"]
	if got, err := parts.ParseRollup(attributes); err == nil { // could not be stored again
		t.Errorf("a measure without a name was read: %+v", got)
	}
	if got := (parts.Rollup{}).Attributes()["skipped"]; !reflect.DeepEqual(got, n("0")) {
		t.Errorf("no skipped number is stored as %v", got)
	}
	for _, name := range []string{"n", "sum", "min", "max"} {
		for _, bad := range []types.AttributeValue{n("0.5.5"), n("1e999"), n("-"), dynamo.String("1")} {
			attributes := p.Attributes()
			attributes["measures"].(*types.AttributeValueMemberM).Value["t"].(*types.AttributeValueMemberM).Value[name] = bad
			got, err := parts.ParseRollup(attributes)
			if err == nil || !strings.Contains(err.Error(), `its "measures" can't be read: member "t": attribute `+name) {
				t.Errorf("with %s %+v it was read as %+v: %v", name, bad, got, err)
			}
		}
	}
}

// show returns attributes as text.
func show(t *testing.T, it dynamo.Item) string {
	t.Helper()
	text, err := json.Marshal(it)
	require.NoError(t, err)
	return string(text)
}
