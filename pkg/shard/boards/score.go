package boards

import (
	"cmp"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Score is a decimal number between -10^18 and 10^18, both excluded, with up to nine decimal
// places. Equal scores are ==; Cmp orders them. The zero Score is 0.
type Score struct {
	whole int64 // rounded down
	nano  int32 // billionths to add, 0 to 999,999,999
}

const (
	nanos     = 1_000_000_000
	maxWhole  = 1_000_000_000_000_000_000 // excluded
	maxDigits = 38                        // significant digits of DynamoDB's numbers
	maxText   = 64                        // bytes
	maxExp    = 30                        // largest exponent of a text
	minExp    = -400                      // smallest, below the exponent of any float64
)

// ParseScore returns the score of a text in JSON's or DynamoDB's form: 12, -0.5, 1.5e3. It rounds to nine decimal
// places, half to even. A number out of range, more than 38 significant digits or more than 64 bytes are an error.
func ParseScore(text string) (Score, error) {
	fault := func() (Score, error) {
		return Score{}, fmt.Errorf("%.40q is not a number between -10^18 and 10^18 with at most %d digits", text, maxDigits)
	}
	digits, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	e, err := strconv.Atoi(exponent)
	switch {
	case len(text) > maxText, significant(digits) > maxDigits, strings.Trim(text, "0123456789+-.eE") != "":
		return fault()
	case exponent != "" && (err != nil || e < minExp || e > maxExp):
		return fault()
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok {
		return fault()
	}
	whole, nano := new(big.Int).DivMod(roundEven(value.Mul(value, big.NewRat(nanos, 1))), big.NewInt(nanos), new(big.Int))
	s := Score{whole.Int64(), int32(nano.Int64())}
	if !whole.IsInt64() || !s.fits() {
		return fault()
	}
	return s, nil
}

// significant returns how many digits a number's text has from the first to the last digit that is not 0.
func significant(number string) int {
	return len(strings.Trim(strings.Replace(strings.TrimLeft(number, "+-"), ".", "", 1), "0"))
}

// roundEven returns the nearest whole number, or the even number if two are equally near.
func roundEven(x *big.Rat) *big.Int {
	whole, rest := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int))
	switch half := rest.Lsh(rest, 1).Cmp(x.Denom()); {
	case half > 0, half == 0 && whole.Bit(0) == 1:
		return whole.Add(whole, big.NewInt(1))
	}
	return whole
}

// fits reports whether the score is between -10^18 and 10^18, both excluded.
func (s Score) fits() bool {
	return s.whole < maxWhole && s.Cmp(Score{-maxWhole, 0}) > 0
}

// Add returns the sum; ok is false if the sum is out of range.
func (s Score) Add(other Score) (sum Score, ok bool) {
	sum = Score{s.whole + other.whole, s.nano + other.nano} // the sum of two nanos fits into an int32
	if sum.nano >= nanos {
		sum.whole, sum.nano = sum.whole+1, sum.nano-nanos
	}
	return sum, sum.fits()
}

// negative returns 0 - s. The bounds of scores are symmetric, so it is in range.
func (s Score) negative() Score {
	if s.nano == 0 {
		return Score{-s.whole, 0}
	}
	return Score{-s.whole - 1, nanos - s.nano}
}

// Cmp returns a negative number if s is below other, a positive one if above, 0 if equal.
func (s Score) Cmp(other Score) int {
	return cmp.Or(cmp.Compare(s.whole, other.whole), cmp.Compare(s.nano, other.nano))
}

// Float returns the nearest float64. It keeps the order of scores, but close scores may become equal.
func (s Score) Float() float64 {
	f, _ := strconv.ParseFloat(s.String(), 64) // any score's text is a number in range
	return f
}

// String returns the score without trailing zeros: a valid number of JSON and of DynamoDB.
func (s Score) String() string {
	sign, whole, nano := "", s.whole, int64(s.nano)
	if whole < 0 {
		sign, whole = "-", -whole
		if nano > 0 {
			whole, nano = whole-1, nanos-nano
		}
	}
	text := sign + strconv.FormatInt(whole, 10)
	if nano == 0 {
		return text
	}
	return text + "." + strings.TrimRight(fmt.Sprintf("%09d", nano), "0")
}

// rankDigits is the length of a score in a rank key.
const rankDigits = 19 + 9

// rankText returns the score as text of rankDigits digits. Texts of higher scores sort first.
func (s Score) rankText() string {
	return fmt.Sprintf("%019d%09d", maxWhole-s.whole, nanos-1-s.nano)
}

// parseRankText is the inverse of rankText.
func parseRankText(text string) (Score, error) {
	whole, err := strconv.ParseUint(text[:19], 10, 63)
	nano, err2 := strconv.ParseUint(text[19:], 10, 31)
	s := Score{maxWhole - int64(whole), nanos - 1 - int32(nano)}
	if err != nil || err2 != nil || s.nano < 0 || !s.fits() {
		return Score{}, fmt.Errorf("%q is not a score of a rank key", text)
	}
	return s, nil
}
