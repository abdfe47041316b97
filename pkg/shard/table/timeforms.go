package table

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/oklog/ulid/v2"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Parts of the patterns of isoForms.
const (
	day     = `^(\d{4})[-/.](\d\d)[-/.](\d\d)`
	packed  = `^(\d{4})(\d\d)(\d\d)`
	digits  = `^((?:19|2\d)\d\d)(\d\d)(\d\d)` // years 19xx and 2xxx, since digits alone may be another number
	hour    = `([01]\d|2[0-4])`
	minute  = `([0-5]\d)`
	second  = `([0-5]\d|60)`
	decimal = `(?:[.,](\d+))?`
	offset  = ` ?([Zz]|[-+](?:0\d|1[0-4])(?::?(?:00|15|30|45))?)?`
	end     = `(?:$|[^0-9A-Za-z])`
	noMore  = `(?:$|[^0-9A-Za-z:])` // after hours or minutes
)

// isoForms have the groups year, month, day, hour, minute, second, decimals and offset.
var isoForms = patterns(
	day+`[Tt _]`+hour+`:`+minute+`:`+second+decimal+offset+end,
	day+`[Tt _]`+hour+`:`+minute+`()()`+offset+noMore,
	day+`[Tt _]`+hour+`[-.]`+minute+`(?:[-.]`+second+decimal+`)?`+offset+noMore,
	day+`[Tt]`+hour+`()()()`+offset+noMore,
	day+`()()()()()`+end,
	packed+`[Tt]`+hour+minute+`(?:`+second+decimal+`)?`+offset+end,
	digits+`(?:`+hour+minute+`(?:`+second+`(?:[.,]?(\d{3}|\d{6}))?)?`+offset+`)?`+end,
)

// patterns returns a function that compiles the patterns at its first call.
func patterns(list ...string) func() []*regexp.Regexp {
	return sync.OnceValue(func() (compiled []*regexp.Regexp) {
		for _, pattern := range list {
			compiled = append(compiled, regexp.MustCompile(pattern))
		}
		return compiled
	})
}

// weekForm has the groups year, week and day of the week.
var weekForm = patterns(`^(\d{4})-?W([0-5]\d)(?:-?([1-7]))?` + end)

// ISO reads times of ISO 8601 with any precision and offset: 2026-01-05T12:00:45.490+01:00, 20260105T120045Z,
// 2026-01-05, 2026-W02-1. T and Z may be lower-case, T a space or an underscore, the time's colons hyphens or points, and
// the decimal point a comma. A time without an offset is UTC, and a day or a week is its first moment.
func ISO(text string) (time.Time, error) {
	if m := weekForm()[0].FindStringSubmatch(text); m != nil {
		return parseWeek(text, m)
	}
	for _, form := range isoForms() {
		m := form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		midnight := time.Date(number(m[1]), time.Month(number(m[2])), number(m[3]), 0, 0, 0, 0, time.UTC)
		if midnight.Day() != number(m[3]) || int(midnight.Month()) != number(m[2]) {
			continue // no such day, as February 30
		}
		clock := time.Duration(number(m[4]))*time.Hour + time.Duration(number(m[5]))*time.Minute + time.Duration(number(m[6]))*time.Second
		return midnight.Add(clock + fraction(m[7], time.Second) - zone(m[8])), nil
	}
	return time.Time{}, formError(text, "time of ISO 8601")
}

// parseWeek returns the beginning of a week, or of one of its days. m is the text's match of weekForm.
func parseWeek(text string, m []string) (time.Time, error) {
	jan4 := time.Date(number(m[1]), 1, 4, 0, 0, 0, 0, time.UTC) // always in week 1
	monday := jan4.AddDate(0, 0, -(int(jan4.Weekday())+6)%7)
	at := monday.AddDate(0, 0, 7*(number(m[2])-1)+max(number(m[3])-1, 0))
	if _, n := at.ISOWeek(); n != number(m[2]) {
		return time.Time{}, formError(text, "week of ISO 8601")
	}
	return at, nil
}

// number returns the value of at most four digits; 0 for "".
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// fraction returns the unit times 0.decimals; decimals are digits or "".
func fraction(decimals string, unit time.Duration) time.Duration {
	share, _ := strconv.ParseFloat("0."+decimals+"0", 64)
	return time.Duration(math.Round(share * float64(unit)))
}

// zone returns the offset of Z, +01, +0100 or +01:00, and 0 for "".
func zone(text string) time.Duration {
	digits := strings.ReplaceAll(text, ":", "") + "00" // +01 becomes +0100
	if len(digits) < len("+0100") {
		return 0
	}
	east := time.Duration(number(digits[1:3]))*time.Hour + time.Duration(number(digits[3:5]))*time.Minute
	if text[0] == '-' {
		return -east
	}
	return east
}

var unixForm = patterns(`^(-?)(\d+)(?:\.(\d+))?` + end)

// Unix reads a number of seconds, milliseconds, microseconds or nanoseconds since 1970. The number's size decides its unit,
// which is right for times from March 1973 to the year 2262. Numbers may have decimals, and in texts leading zeros.
func Unix(text string) (time.Time, error) {
	m := unixForm()[0].FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, formError(text, "number of Unix time")
	}
	whole, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil {
		return time.Time{}, formError(text, "number of Unix time")
	}
	unit := time.Nanosecond
	switch {
	case whole < 1e11:
		unit = time.Second
	case whole < 1e14:
		unit = time.Millisecond
	case whole < 1e17:
		unit = time.Microsecond
	}
	perSecond := int64(time.Second / unit)
	since := time.Duration(whole%perSecond)*unit + fraction(m[3], unit)
	if m[1] == "-" {
		whole, since = -whole, -since
	}
	return time.Unix(whole/perSecond, int64(since)).UTC(), nil
}

// ULID reads the time of a ULID.
func ULID(text string) (time.Time, error) {
	id, err := ulid.ParseStrict(text[:min(len(text), ulid.EncodedSize)])
	if err != nil || !ended(text[ulid.EncodedSize:]) {
		return time.Time{}, formError(text, "ULID")
	}
	return ulid.Time(id.Time()).UTC(), nil
}

const (
	ksuidSize  = 27            // characters of a KSUID, a number of 20 bytes to base 62
	ksuidEpoch = 1_400_000_000 // Unix seconds of a KSUID's time 0
)

// KSUID reads the time of a KSUID, in whole seconds.
func KSUID(text string) (time.Time, error) {
	if len(text) < ksuidSize || !ended(text[ksuidSize:]) {
		return time.Time{}, formError(text, "KSUID")
	}
	// KSUIDs have upper-case digits before lower-case ones, and package big the other way round.
	id, ok := new(big.Int).SetString(strings.Map(swapCase, text[:ksuidSize]), 62)
	if !ok || id.Sign() < 0 || id.BitLen() > 160 {
		return time.Time{}, formError(text, "KSUID")
	}
	return time.Unix(ksuidEpoch+id.Rsh(id, 128).Int64(), 0).UTC(), nil
}

func swapCase(r rune) rune {
	switch {
	case '0' <= r && r <= '9':
		return r
	case unicode.IsUpper(r):
		return unicode.ToLower(r)
	case unicode.IsLower(r):
		return unicode.ToUpper(r)
	}
	return '?' // no digit
}

var uuidForm = patterns(`^(?i)([\da-f]{8})(-?)([\da-f]{4})(-?)([\da-f]{4})(-?)([\da-f]{4})(-?)([\da-f]{12})` + end)

// gregorian is the time 0 of UUIDs of versions 1 and 6, in Unix seconds: 1582-10-15.
const gregorian = -12_219_292_800

// UUID reads the time of a UUID of version 1, 6 or 7, with or without hyphens.
func UUID(text string) (time.Time, error) {
	m := uuidForm()[0].FindStringSubmatch(text)
	if m == nil || m[2] != m[4] || m[2] != m[6] || m[2] != m[8] || !strings.ContainsAny(m[7][:1], "89abAB") {
		return time.Time{}, formError(text, "UUID of version 1, 6 or 7")
	}
	id, _ := hex.DecodeString(m[1] + m[3] + m[5])
	high, low := int64(binary.BigEndian.Uint32(id)), int64(binary.BigEndian.Uint16(id[6:])&0xfff)
	middle := int64(binary.BigEndian.Uint16(id[4:]))
	switch id[6] >> 4 {
	case 1:
		return sinceGregorian(low<<48 | middle<<32 | high), nil
	case 6:
		return sinceGregorian(high<<28 | middle<<12 | low), nil
	case 7:
		return time.UnixMilli(high<<16 | middle).UTC(), nil
	}
	return time.Time{}, formError(text, "UUID of version 1, 6 or 7")
}

// sinceGregorian returns the time that is n times 100 ns after gregorian.
func sinceGregorian(n int64) time.Time {
	return time.Unix(gregorian+n/1e7, n%1e7*100).UTC()
}

// formError returns the error of a text that does not begin with the form.
func formError(text, form string) error {
	return &shard.KeyError{Key: text, Reason: "it does not begin with a " + form}
}

var endForm = patterns(`^` + end)

// ended reports whether rest, the text after a time, is empty or begins with a character that is no letter or digit.
func ended(rest string) bool { return endForm()[0].MatchString(rest) }
