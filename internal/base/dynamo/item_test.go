package dynamo_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// TestReads checks what each accessor returns for attributes of its type, of other types, and for missing ones.
func TestReads(t *testing.T) {
	it := dynamo.Key("p", "s")
	it["n"], it["half"], it["binary"] = dynamo.Number(1795240688424), &types.AttributeValueMemberN{Value: "0.5"}, &types.AttributeValueMemberB{Value: []byte("1")}
	for name, want := range map[string]struct {
		text, digits string
		whole        int64
		ok           bool
	}{
		"pk": {text: "p"}, "sk": {text: "s"}, "half": {digits: "0.5"}, "binary": {}, "none": {},
		"n": {digits: "1795240688424", whole: 1795240688424, ok: true},
	} {
		n, ok := dynamo.Whole(it, name)
		if text, digits := dynamo.Text(it, name), dynamo.Digits(it, name); text != want.text || digits != want.digits || n != want.whole || ok != want.ok {
			t.Errorf("%s: %q, %q, %d, %t; want %+v", name, text, digits, n, ok, want)
		}
		if at, known := dynamo.Millis(it, name); known != want.ok || known && at != time.Date(2026, 11, 21, 5, 58, 8, 424e6, time.UTC) {
			t.Errorf("%s: %v, %t", name, at, known)
		}
	}
	it["yes"] = &types.AttributeValueMemberBOOL{Value: true}
	if !dynamo.Bool(it, "yes") || dynamo.Bool(it, "n") || dynamo.Bool(nil, "yes") {
		t.Error("Bool is wrong for true, a number or a missing attribute")
	}
	if dynamo.Text(nil, "pk") != "" {
		t.Error("a nil item has a text")
	}
}

// set returns an attribute of type NS.
func set(numbers ...string) types.AttributeValue {
	return &types.AttributeValueMemberNS{Value: numbers}
}

// TestNumbersOfItems checks what is read as a whole number of any size, as one of 64 bits, and as a set.
func TestNumbersOfItems(t *testing.T) {
	for name, c := range map[string]struct {
		value                   types.AttributeValue
		whole, integer, largest string // "" for an error
	}{
		"absent":    {nil, "", "0", "0"},
		"zero":      {dynamo.Number(0), "0", "0", ""},
		"negative":  {dynamo.Number(-7), "-7", "-7", ""},
		"64 bits":   {dynamo.Decimal("9223372036854775807"), "9223372036854775807", "9223372036854775807", ""},
		"more bits": {dynamo.Decimal("9223372036854775808"), "9223372036854775808", "", ""},
		"half":      {dynamo.Decimal("0.5"), "", "", ""},
		"text":      {dynamo.String("7"), "", "", ""},
		"set":       {set("3", "12", "5"), "", "", "12"},
		"negatives": {set("-3"), "", "", "0"},
		"half set":  {set("3", "0.5"), "", "", ""},
	} {
		it := dynamo.Item{}
		if c.value != nil {
			it["n"] = c.value
		}
		whole, wholeErr := dynamo.BigInteger(it, "n")
		integer, integerErr := dynamo.Integer(it, "n")
		largest, largestErr := dynamo.LargestOfSet(it, "n")
		for i, got := range []struct {
			value, want string
			err         error
		}{{fmt.Sprint(whole), c.whole, wholeErr}, {fmt.Sprint(integer), c.integer, integerErr}, {fmt.Sprint(largest), c.largest, largestErr}} {
			if (got.err != nil) != (got.want == "") || got.err == nil && got.value != got.want || got.err != nil && !strings.Contains(got.err.Error(), "attribute n") {
				t.Errorf("%s, read %d: %s, %v; want %q", name, i, got.value, got.err, got.want)
			}
		}
	}
}

// TestExpired checks that an item expires at its second.
func TestExpired(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		it   dynamo.Item
		now  time.Time
		want bool
	}{
		{dynamo.Item{"expires_at": dynamo.Number(at.Unix())}, at.Add(-time.Millisecond), false},
		{dynamo.Item{"expires_at": dynamo.Number(at.Unix())}, at, true},
		{dynamo.Item{"expires_at": dynamo.String("1")}, at, false},
		{dynamo.Item{}, at, false},
	} {
		if got := dynamo.Expired(c.it, c.now); got != c.want {
			t.Errorf("%v at %v: %t", c.it, c.now, got)
		}
	}
}

// TestTextsOfAttributes checks the text of a key's attribute, and the one that orders items with equal sort keys.
func TestTextsOfAttributes(t *testing.T) {
	for _, c := range []struct {
		value     types.AttributeValue
		text, tie string
	}{
		{dynamo.String("a"), "a", "S:a"},
		{dynamo.String(""), "", "S:"},
		{dynamo.Decimal("1.7e3"), "1700", "N:1700"},
		{dynamo.Decimal("x"), "", ""},
		{&types.AttributeValueMemberB{Value: []byte("a")}, "", ""},
		{nil, "", ""},
	} {
		it := dynamo.Item{"a": c.value}
		text, ok := dynamo.Attribute(it, "a")
		if ok && text != c.text || ok != (c.tie != "") || dynamo.TieValue(it, "a") != c.tie {
			t.Errorf("%v: %q, %t, %q", c.value, text, ok, dynamo.TieValue(it, "a"))
		}
	}
}

// values are attribute values with their sizes, by
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
var values = []struct {
	value types.AttributeValue
	size  int
}{
	{dynamo.String("äb"), 3},
	{dynamo.Decimal("-1.2"), 4},
	{dynamo.Decimal("x"), 1},
	{&types.AttributeValueMemberB{Value: []byte("abc")}, 3},
	{&types.AttributeValueMemberBOOL{Value: true}, 1},
	{&types.AttributeValueMemberNULL{Value: true}, 1},
	{&types.AttributeValueMemberSS{Value: []string{"a", "bc"}}, 3},
	{set("1", "12", "1.2"), 7},
	{&types.AttributeValueMemberBS{Value: [][]byte{[]byte("a"), []byte("bcd")}}, 4},
	{&types.AttributeValueMemberL{}, 3},
	{&types.AttributeValueMemberL{Value: []types.AttributeValue{dynamo.String("ab"), dynamo.Number(1)}}, 9},
	{&types.AttributeValueMemberM{}, 3},
	{&types.AttributeValueMemberM{Value: dynamo.Item{"name": dynamo.String("ab"), "n": dynamo.Number(1)}}, 14},
}

// TestSize checks the sizes of all types of attributes, alone and together.
func TestSize(t *testing.T) {
	all, sum := dynamo.Item{}, 0
	for i, v := range values {
		name := strings.Repeat("n", i+1)
		all[name], sum = v.value, sum+len(name)+v.size
		if got := dynamo.Size(dynamo.Item{"n": v.value}); got != 1+v.size {
			t.Errorf("%T %v: %d, want %d", v.value, v.value, got, 1+v.size)
		}
	}
	if got := dynamo.Size(all); got != sum {
		t.Errorf("all: %d, want %d", got, sum)
	}
}

// TestEqualValues checks that each value equals a copy and no other value, and numbers in other forms.
func TestEqualValues(t *testing.T) {
	list := func(v ...types.AttributeValue) types.AttributeValue { return &types.AttributeValueMemberL{Value: v} }
	document := func(it dynamo.Item) types.AttributeValue { return &types.AttributeValueMemberM{Value: it} }
	for i, a := range values {
		for j, b := range values {
			if got := dynamo.EqualValues(a.value, b.value); got != (i == j) {
				t.Errorf("%v and %v: %t", a.value, b.value, got)
			}
		}
	}
	for _, c := range []struct {
		a, b types.AttributeValue
		want bool
	}{
		{dynamo.Decimal("1.0"), dynamo.Decimal("1"), true},
		{dynamo.Decimal("x"), dynamo.Decimal("x"), true},
		{list(dynamo.Decimal("1.0")), list(dynamo.Decimal("1")), true},
		{list(dynamo.Number(1)), list(dynamo.Number(1), dynamo.Number(1)), false},
		{document(dynamo.Item{"a": dynamo.Decimal("1.0")}), document(dynamo.Item{"a": dynamo.Decimal("1")}), true},
		{document(dynamo.Item{"a": dynamo.Number(1)}), document(dynamo.Item{"b": dynamo.Number(1)}), false},
		{set("1", "2"), set("2.0", "1"), true},
		{set("1", "2"), set("1"), false},
		{&types.AttributeValueMemberSS{Value: []string{"a", "b"}}, &types.AttributeValueMemberSS{Value: []string{"b", "a"}}, true},
		{&types.AttributeValueMemberSS{Value: []string{"a", "b"}}, &types.AttributeValueMemberSS{Value: []string{"b", "c"}}, false},
		{&types.AttributeValueMemberBS{Value: [][]byte{{1}, {2}}}, &types.AttributeValueMemberBS{Value: [][]byte{{2}, {1}}}, true},
		{nil, nil, true},
		{nil, dynamo.Number(0), false},
	} {
		if got := dynamo.EqualValues(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %t", c.a, c.b, got)
		}
	}
}

// TestCompareValues checks the order of sort keys of each type.
func TestCompareValues(t *testing.T) {
	bytes := func(s string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(s)} }
	for _, c := range []struct {
		a, b types.AttributeValue
		want int
	}{
		{dynamo.String("10"), dynamo.String("9"), -1},
		{dynamo.String("a"), dynamo.String("a"), 0},
		{dynamo.Decimal("10"), dynamo.Decimal("9"), 1},
		{dynamo.Decimal("-10"), dynamo.Decimal("9e-1"), -1},
		{dynamo.Decimal("1.0"), dynamo.Decimal("1"), 0},
		{dynamo.Decimal("x"), dynamo.Decimal("1"), 1},
		{dynamo.Decimal("10"), dynamo.Decimal("9x"), -1},
		{bytes("\x01"), bytes("\xff"), -1},
		{dynamo.String("a"), dynamo.Number(1), 0},
		{dynamo.Number(1), dynamo.String("a"), 0},
		{bytes("a"), dynamo.Number(1), 0},
	} {
		if got := dynamo.CompareValues(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestAWriteIsWhole checks that a write of a transaction keeps all its fields as a single call. A new type of field, from a
// later release of the SDK, fails it.
func TestAWriteIsWhole(t *testing.T) {
	update, put, deletion := new(types.Update), new(types.Put), new(types.Delete)
	for _, w := range []struct {
		write any
		call  func() any
	}{
		{update, func() any { return dynamo.UpdateInput(update) }},
		{put, func() any { return dynamo.PutInput(put) }},
		{deletion, func() any { return dynamo.DeleteInput(deletion) }},
	} {
		write := reflect.ValueOf(w.write).Elem()
		filled := 0
		for i := range write.NumField() {
			field := write.Field(i)
			if !field.CanSet() {
				continue
			}
			switch field.Interface().(type) {
			case *string:
				name := write.Type().Field(i).Name
				field.Set(reflect.ValueOf(&name))
			case map[string]string:
				field.Set(reflect.ValueOf(map[string]string{"#a": "a"}))
			case dynamo.Item:
				field.Set(reflect.ValueOf(dynamo.Key("p", "s")))
			case types.ReturnValuesOnConditionCheckFailure:
				field.Set(reflect.ValueOf(types.ReturnValuesOnConditionCheckFailureAllOld))
			default:
				t.Fatalf("%s has a field of a new type", write.Type())
			}
			filled++
		}
		call := reflect.ValueOf(w.call()).Elem()
		for i := range write.NumField() {
			name := write.Type().Field(i).Name
			if !write.Field(i).CanSet() {
				continue
			}
			if !reflect.DeepEqual(call.FieldByName(name).Interface(), write.Field(i).Interface()) {
				t.Errorf("%s lacks %s", call.Type(), name)
			}
		}
		if filled < 6 {
			t.Errorf("%s has %d fields, want at least 6", write.Type(), filled)
		}
	}
}
