package ddbstream

import (
	"fmt"
	"strconv"
	"strings"
)

// maxNumberSize is what the longest number takes, 38 digits and a sign.
const maxNumberSize = 21

// numberSize returns what a number takes in an item: one byte, one for a minus
// sign, and one for each pair of digits from the first to the last that is not
// 0. Pairs are aligned with the decimal point, so that 12 has one and 1.2 and
// 120 have two. AWS documents this as approximate; the alignment and the limit
// are those of Amazon's own DynamoDB Local.
func numberSize(text []byte) (int, error) {
	digits, negative := strings.CutPrefix(string(text), "-")
	mantissa, exponent, err := splitNumber(digits)
	if err != nil {
		return 0, fmt.Errorf("%.50q is not a number", text)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := whole + fraction
	significant := strings.TrimLeft(all, "0")
	first := len(whole) + exponent - 1 - (len(all) - len(significant)) // the first digit counts 10^first
	significant = strings.TrimRight(significant, "0")
	if significant == "" {
		return 1, nil
	}
	last := first - len(significant) + 1
	size := 1 + (first>>1 - last>>1) + 1
	if negative {
		size++
	}
	return min(size, maxNumberSize), nil
}

// maxExponent is far beyond the 125 that DynamoDB allows.
const maxExponent = 1000

func splitNumber(digits string) (mantissa string, exponent int, err error) {
	mantissa, power, scientific := strings.Cut(strings.ToLower(digits), "e")
	if scientific {
		if exponent, err = strconv.Atoi(power); err != nil {
			return "", 0, err
		}
	}
	figures := strings.Replace(mantissa, ".", "", 1)
	if figures == "" || strings.Trim(figures, "0123456789") != "" || max(exponent, -exponent) > maxExponent {
		return "", 0, strconv.ErrSyntax
	}
	return mantissa, exponent, nil
}
