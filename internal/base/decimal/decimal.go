// Package decimal parses DynamoDB's numbers: their value, order and size in an item. It parses
// text or bytes in place; only String allocates.
//
//	n, ok := decimal.Parse("1.50e1")
//	n.String()                     // "15"
//	n.Size()                       // 2 bytes
//	decimal.Compare(n, m)          // by value
package decimal

import (
	"cmp"
	"strconv"
	"strings"
)

// Number is a parsed number. It refers to the text that it was parsed from.
type Number[T ~string | ~[]byte] struct {
	digits   T // from the first to the last digit that is not 0, perhaps with a point; empty for zero
	negative bool
	high     int // the power of ten of the first digit in digits
	low      int // the power of ten of the last digit in digits
}

// maxExponent is far beyond the exponents of DynamoDB, which are -130 to 125.
const maxExponent = 1000

// Parse parses a number such as -1.5e3. If the text is not a number, or its exponent is not within -1,000 to 1,000, ok
// is false and n is 0. DynamoDB's limit of 38 digits is not checked.
func Parse[T ~string | ~[]byte](text T) (n Number[T], ok bool) {
	pos := 0
	if pos < len(text) && (text[pos] == '-' || text[pos] == '+') {
		n.negative = text[pos] == '-'
		pos++
	}
	count, countBeforePoint, hasPoint := 0, 0, false // of digits, also zeros
	var firstNonzero, lastNonzero int                // how many digits are before these digits
	var begin, end int                               // text[begin:end] is from the first nonzero digit to the last; end is 0 if there is none
scan:
	for ; pos < len(text); pos++ {
		switch c := text[pos]; {
		case '0' <= c && c <= '9':
			if c != '0' && end == 0 {
				firstNonzero, begin = count, pos
			}
			if c != '0' {
				lastNonzero, end = count, pos+1
			}
			count++
		case c == '.' && !hasPoint:
			countBeforePoint, hasPoint = count, true
		default:
			break scan
		}
	}
	exponent, ok := parseExponent(text[pos:])
	if !ok || count == 0 {
		return Number[T]{}, false
	}
	if end == 0 {
		return Number[T]{}, true // zero
	}
	if !hasPoint {
		countBeforePoint = count
	}
	firstPower := countBeforePoint - 1 + exponent // of the first digit
	n.digits, n.high, n.low = text[begin:end], firstPower-firstNonzero, firstPower-lastNonzero
	return n, true
}

// parseExponent parses the text after a number's digits: nothing, which means 0, or e and a whole number up to maxExponent.
func parseExponent[T ~string | ~[]byte](suffix T) (exponent int, ok bool) {
	if len(suffix) == 0 {
		return 0, true
	}
	if suffix[0] != 'e' && suffix[0] != 'E' {
		return 0, false
	}
	exponent, err := strconv.Atoi(string(suffix[1:]))
	return exponent, err == nil && -maxExponent <= exponent && exponent <= maxExponent
}

// maxSize is the size of the longest number, which has 38 digits and a sign.
const maxSize = 21

// Size returns the number's size in an item, in bytes: one, another for a minus sign, and one for each pair of digits
// from the first to the last nonzero digit. Pairs begin at the decimal point: 12 has one pair, and 1.2 and 120 have two.
// AWS documents only an approximate size. The pairs and the largest size are those of DynamoDB Local.
func (n Number[T]) Size() int {
	if len(n.digits) == 0 {
		return 1
	}
	size := SizeOfPositive(n.high, n.low)
	if n.negative {
		size++
	}
	return min(size, maxSize)
}

// SizeOfPositive returns the size of a positive number of at most 38 digits in an item, in bytes. The first nonzero digit
// counts 10^high, the last one 10^low.
func SizeOfPositive(high, low int) int {
	firstPair, lastPair := high>>1, low>>1 // rounded down, also below 0
	return 1 + firstPair - lastPair + 1
}

// Parts returns the number's digits, without zeros at either end, and the power of ten by which they are multiplied. For
// zero, digits is "".
func (n Number[T]) Parts() (digits string, power int, negative bool) {
	if len(n.digits) == 0 {
		return "", 0, false
	}
	return strings.Replace(string(n.digits), ".", "", 1), n.low, n.negative
}

// String returns the number as DynamoDB returns it, without an exponent and without superfluous
// zeros: 1700000000 for 1.7e9. Equal numbers have equal strings.
func (n Number[T]) String() string {
	if len(n.digits) == 0 {
		return "0"
	}
	var b strings.Builder
	if n.negative {
		b.WriteByte('-')
	}
	if n.high < 0 {
		b.WriteString("0.")
		b.WriteString(strings.Repeat("0", -n.high-1))
	}
	power := n.high
	for _, c := range []byte(string(n.digits)) {
		if c == '.' {
			continue
		}
		b.WriteByte(c)
		if power == 0 && n.low < 0 {
			b.WriteByte('.')
		}
		power--
	}
	b.WriteString(strings.Repeat("0", max(0, n.low)))
	return b.String()
}

// sign returns the number's sign: -1, 0 or 1.
func (n Number[T]) sign() int {
	switch {
	case len(n.digits) == 0:
		return 0
	case n.negative:
		return -1
	}
	return 1
}

// Compare compares two numbers by value, exactly, and returns -1, 0 or 1.
func Compare[T ~string | ~[]byte](a, b Number[T]) int {
	if c := cmp.Compare(a.sign(), b.sign()); c != 0 || a.sign() == 0 {
		return c
	}
	return a.sign() * cmp.Or(cmp.Compare(a.high, b.high), compareDigits(a.digits, b.digits))
}

// compareDigits compares digits that begin at the same power of ten. Neither ends with 0. So if one begins with the
// other, the longer one is greater.
func compareDigits[T ~string | ~[]byte](a, b T) int {
	i, j := 0, 0
	for {
		for i < len(a) && a[i] == '.' {
			i++
		}
		for j < len(b) && b[j] == '.' {
			j++
		}
		if i == len(a) || j == len(b) {
			return cmp.Compare(len(a)-i, len(b)-j)
		}
		if a[i] != b[j] {
			return cmp.Compare(a[i], b[j])
		}
		i, j = i+1, j+1
	}
}

// CompareWhole compares unsigned whole numbers of any length, such as sequence numbers of
// streams, which exceed 64 bits. The empty text is the smallest.
func CompareWhole(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
