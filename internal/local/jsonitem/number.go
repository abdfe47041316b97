package jsonitem

import (
	"strconv"
	"strings"
)

// number is a DynamoDB number whatever way it was written: 1, 1.0 and 10e-1 are
// one number, and one key.
type number struct {
	negative bool
	digits   string // from the first to the last that is not 0; "" is zero
	exponent int    // the last digit counts 10^exponent
}

// parseNumber reads a number. What isn't one, which the engine will refuse,
// stands for itself.
func parseNumber(text string) number {
	unsigned, negative := strings.CutPrefix(text, "-")
	mantissa, power, scientific := strings.Cut(strings.ToLower(unsigned), "e")
	exponent := 0
	if scientific {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil {
			return number{digits: text}
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := strings.TrimLeft(strings.TrimPrefix(whole, "+")+fraction, "0")
	digits := strings.TrimRight(all, "0")
	if digits == "" {
		return number{}
	}
	return number{negative, digits, exponent - len(fraction) + len(all) - len(digits)}
}

const (
	maxNumberSize = 21 // of the longest: 38 digits and a sign
	maxZeros      = 40 // that text writes out
)

// size is what the number takes in an item: a byte, one for a minus sign, and
// one for each pair of digits, pairs being aligned with the decimal point. AWS
// documents about that; the alignment is that of Amazon's DynamoDB Local.
func (n number) size() int {
	if n.digits == "" {
		return 1
	}
	first := n.exponent + len(n.digits) - 1
	size := 2 + first>>1 - n.exponent>>1
	if n.negative {
		size++
	}
	return min(size, maxNumberSize)
}

// text is the same for equal numbers.
func (n number) text() string {
	sign := ""
	if n.negative {
		sign = "-"
	}
	switch {
	case n.digits == "":
		return "0"
	case n.exponent >= 0 && n.exponent <= maxZeros:
		return sign + n.digits + strings.Repeat("0", n.exponent)
	}
	return sign + n.digits + "e" + strconv.Itoa(n.exponent)
}
