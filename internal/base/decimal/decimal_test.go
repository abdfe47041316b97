package decimal

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// numerals generates numbers with signs, zeros at both ends, points and exponents.
var numerals = rapid.StringMatching(`[+-]?(0{0,3}[0-9]{1,12}(\.[0-9]{0,12})?|\.[0-9]{1,12})([eE][+-]?[0-9]{1,2})?`)

// TestNumbersAgreeWithRationals compares order, text and parts of numbers with math/big's.
func TestNumbersAgreeWithRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := numerals.Draw(t, "a"), numerals.Draw(t, "b")
		n, ok1 := Parse(a)
		m, ok2 := Parse(b)
		x, ok3 := new(big.Rat).SetString(a)
		y, ok4 := new(big.Rat).SetString(b)
		if !ok1 || !ok2 || !ok3 || !ok4 {
			t.Fatalf("%q, %q: %v %v, want numbers", a, b, ok1, ok2)
		}
		if got, want := Compare(n, m), x.Cmp(y); got != want {
			t.Errorf("Compare(%s, %s) = %d, want %d", a, b, got, want)
		}
		if same := n.String() == m.String(); same != (x.Cmp(y) == 0) {
			t.Errorf("%s and %s are %s and %s", a, b, n, m)
		}
		places, _ := x.FloatPrec()
		if want := x.FloatString(places); n.String() != want {
			t.Errorf("%q is %s, want %s", a, n, want)
		}
		if got := rational(n); got.Cmp(x) != 0 {
			t.Errorf("the parts of %q have the value %s, want %s", a, got, x)
		}
		bytes, ok := Parse([]byte(a))
		if !ok || bytes.Size() != n.Size() || bytes.String() != n.String() {
			t.Errorf("bytes of %q: %s of %d bytes, want %s of %d", a, bytes, bytes.Size(), n, n.Size())
		}
	})
}

// rational returns the value of a number's parts, or -1/7 if they have zeros at an end.
func rational(n Number[string]) *big.Rat {
	digits, power, negative := n.Parts()
	value, ok := new(big.Rat).SetString(fmt.Sprintf("0%se%d", digits, power))
	if !ok || strings.HasSuffix(digits, "0") || strings.HasPrefix(digits, "0") {
		return big.NewRat(-1, 7) // no decimal has this value
	}
	if negative {
		value.Neg(value)
	}
	return value
}

// TestSizesAreTheEngines checks sizes that DynamoDB Local reported.
func TestSizesAreTheEngines(t *testing.T) {
	for _, c := range []struct {
		forms []string
		text  string
		size  int
	}{
		{[]string{"0", "-0", "0.00", "0e5", "+0"}, "0", 1},
		{[]string{"1", "1.0", "01", "10e-1", "0.1E1", "+1", "1e+0"}, "1", 2},
		{[]string{"-1", "-1.00"}, "-1", 3},
		{[]string{"12"}, "12", 2},
		{[]string{"120", "1.2e2"}, "120", 3},
		{[]string{"1.2"}, "1.2", 3},
		{[]string{"1000", "1e3"}, "1000", 2},
		{[]string{"1e100"}, "1" + strings.Repeat("0", 100), 2},
		{[]string{"-0.0005", "-5e-4", "-.0005"}, "-0.0005", 3},
		{[]string{strings.Repeat("9", 38)}, strings.Repeat("9", 38), 20},
		{[]string{"-" + strings.Repeat("9", 37) + ".9"}, "-" + strings.Repeat("9", 37) + ".9", 21},
	} {
		for _, form := range c.forms {
			if n, ok := Parse(form); !ok || n.String() != c.text || n.Size() != c.size {
				t.Errorf("%s is %s of %d bytes, want %s of %d", form, n, n.Size(), c.text, c.size)
			}
		}
	}
}

func TestTextsThatAreNotNumbers(t *testing.T) {
	for _, text := range []string{"", "-", ".", "x", "1x", "1e", "1ex", "1.2.3", "--1", "1e1001", "1e999999999999999999999", "0x10", "1_000", "Inf", " 1"} {
		if n, ok := Parse(text); ok {
			t.Errorf("%q is accepted as %s", text, n)
		}
	}
}

// TestWholeNumbersOfAnyLength compares CompareWhole with math/big.
func TestWholeNumbersOfAnyLength(t *testing.T) {
	wholes := rapid.StringMatching(`[0-9]{0,45}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := wholes.Draw(t, "a"), wholes.Draw(t, "b")
		x, _ := new(big.Int).SetString("0"+a, 10)
		y, _ := new(big.Int).SetString("0"+b, 10)
		if got, want := CompareWhole(a, b), x.Cmp(y); got != want {
			t.Errorf("CompareWhole(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}
