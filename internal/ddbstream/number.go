package ddbstream

import "strconv"

// maxNumberSize is what the longest number takes, 38 digits and a sign.
const maxNumberSize = 21

// numberSize returns what a number takes in an item: one byte, one for a minus
// sign, and one for each pair of digits from the first to the last that is not
// 0. Pairs are aligned with the decimal point, so that 12 has one and 1.2 and
// 120 have two. AWS documents this as approximate; the alignment and the limit
// are those of Amazon's own DynamoDB Local. It is false for what is no number.
func numberSize(text []byte) (int, bool) {
	n, ok := parseNumber(text)
	if !ok || n.digits == 0 {
		return 0, false
	}
	if n.first < 0 {
		return 1, true
	}
	size := pairs(n.power-n.first, n.power-n.last)
	if n.negative {
		size++
	}
	return min(size, maxNumberSize), true
}

// pairs is the size of a number without its sign, by which powers of ten the first
// and the last digit count that are not 0.
func pairs(first, last int) int { return 1 + (first>>1 - last>>1) + 1 }

// maxExponent is far beyond the 125 that DynamoDB allows.
const maxExponent = 1000

// number is what a number's size depends on. Its digits are counted from 0, without
// the point.
type number struct {
	negative    bool
	digits      int
	first, last int // of the digits that are not 0; -1 for none
	power       int // digit d counts 10^(power-d)
}

func parseNumber(text []byte) (n number, ok bool) {
	n.first = -1
	point, exponent, at := -1, 0, 0
	if n.negative = len(text) > 0 && text[0] == '-'; n.negative {
		at++
	}
	for ; at < len(text); at++ {
		c := text[at]
		switch {
		case isDigit(c):
			if c != '0' {
				if n.last = n.digits; n.first < 0 {
					n.first = n.digits
				}
			}
			n.digits++
			continue
		case c == '.' && point < 0:
			point = n.digits
			continue
		case c|0x20 != 'e':
			return n, false
		}
		var err error
		if exponent, err = strconv.Atoi(string(text[at+1:])); err != nil || max(exponent, -exponent) > maxExponent {
			return n, false
		}
		break
	}
	if point < 0 {
		point = n.digits
	}
	n.power = point + exponent - 1
	return n, true
}
