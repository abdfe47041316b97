package parts

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/hotshard/hotshard/internal/base/decimal"
)

// Bounds of numbers that are rolled up. The sum of fewer than 100 million has at most 38 digits, which DynamoDB keeps.
const (
	maxDigits = 15 // significant digits, and digits before the point
	places    = 15 // decimal places
)

// maxStoredDigits is the number of significant digits that DynamoDB keeps.
const maxStoredDigits = 38

// Decimal is an exact number with up to 15 decimal places. The zero Decimal is 0.
type Decimal struct {
	scaled *big.Int // in units of 1e-15; nil is 0; never changed
}

// largest is the largest number that can be rolled up.
var largest = scale("1", maxDigits, false)

// Measurable parses a number that can be rolled up: up to 15 significant digits, a magnitude up to 1e15, and up to 15
// decimal places. ok is false for any other text.
func Measurable(text string) (number Decimal, ok bool) {
	digits, power, negative, ok := parse(text)
	atLimit := digits == "1" && power == maxDigits
	tooLarge := len(digits)+power > maxDigits && !atLimit
	if !ok || tooLarge || len(digits) > maxDigits || power < -places {
		return Decimal{}, false
	}
	return scale(digits, power, negative), true
}

// maxPower is far above the power of ten of any sum.
const maxPower = 60

// StoredDecimal parses a number of a stored fragment.
func StoredDecimal(text string) (Decimal, error) {
	digits, power, negative, ok := parse(text)
	if !ok || len(digits) > maxStoredDigits || power < -places || power > maxPower {
		return Decimal{}, fmt.Errorf("%.60q is not a number that a rollup can have", text)
	}
	return scale(digits, power, negative), nil
}

// parse returns a number as [decimal.Number.Parts] does. ok is false if the text is not a number, or begins with a plus
// sign.
func parse(text string) (digits string, power int, negative, ok bool) {
	n, ok := decimal.Parse(text)
	digits, power, negative = n.Parts()
	return digits, power, negative, ok && text[0] != '+'
}

// scale returns the number of these digits, times ten to a power of at least -places.
func scale(digits string, power int, negative bool) Decimal {
	if digits == "" {
		return Decimal{}
	}
	n, _ := new(big.Int).SetString(digits, 10)
	n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(power+places)), nil))
	if negative {
		n.Neg(n)
	}
	return Decimal{n}
}

var zero = new(big.Int)

func (d Decimal) int() *big.Int {
	if d.scaled == nil {
		return zero
	}
	return d.scaled
}

// Cmp returns -1, 0 or 1 if d is less than, equal to or greater than e.
func (d Decimal) Cmp(e Decimal) int { return d.int().Cmp(e.int()) }

func (d Decimal) negated() Decimal { return Decimal{new(big.Int).Neg(d.int())} }

func (d Decimal) add(e Decimal) Decimal { return Decimal{new(big.Int).Add(d.int(), e.int())} }

// quotient returns the quotient by a count of 1 or more, rounded half away from zero.
func (d Decimal) quotient(n int64) Decimal {
	quotient, rest := new(big.Int).QuoRem(d.int(), big.NewInt(n), new(big.Int))
	if rest.Lsh(rest.Abs(rest), 1).Cmp(big.NewInt(n)) >= 0 {
		quotient.Add(quotient, big.NewInt(int64(d.int().Sign())))
	}
	return Decimal{quotient}
}

// always38 is a number of bits: each integer with so many bits has at most 38 digits.
const always38 = 126

// storable reports whether DynamoDB keeps all digits of the number.
func (d Decimal) storable() bool {
	if d.int().BitLen() <= always38 {
		return true
	}
	digits := new(big.Int).Abs(d.int()).String()
	return len(strings.TrimRight(digits, "0")) <= maxStoredDigits
}

// String returns the number without an exponent or needless zeros: 21.5, -3, 0.
func (d Decimal) String() string {
	sign := ""
	if d.int().Sign() < 0 {
		sign = "-"
	}
	digits := new(big.Int).Abs(d.int()).String()
	digits = strings.Repeat("0", max(0, places+1-len(digits))) + digits
	point := len(digits) - places
	return sign + strings.TrimSuffix(strings.TrimRight(digits[:point]+"."+digits[point:], "0"), ".")
}

// MarshalJSON writes the number with all its digits.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d.String()), nil }
