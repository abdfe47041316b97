package adopt_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/oklog/ulid/v2"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
)

// row has an item's attributes except the name: strings, json.Numbers, and rows as maps. The sort key is placed.
type row map[string]any

// theirs is a made-up table.
type theirs struct {
	name string
	want string // in the lines
	make func(at time.Time, n int) row
}

func (r row) item() item {
	it := item{}
	for attr, v := range r {
		switch v := v.(type) {
		case string:
			it[attr] = libtest.Str(v)
		case json.Number:
			it[attr] = dynamo.Decimal(v.String())
		case row:
			it[attr] = &types.AttributeValueMemberM{Value: v.item()}
		}
	}
	return it
}

func num(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

func id(n int) string { return fmt.Sprintf("order-%d", n) }

const (
	isoMillis = "2006-01-02T15:04:05.000Z"
	isoPlain  = "2006-01-02T15:04:05Z"
	noZone    = "2006-01-02T15:04:05"
)

func ulidOf(at time.Time, n int) string {
	var u ulid.ULID
	if err := u.SetTime(ulid.Timestamp(at)); err != nil {
		panic(err)
	}
	u[15] = byte(n)
	return u.String()
}

// base62 has the digits of KSUIDs.
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func ksuid(at time.Time, n int) string {
	id, rest := big.NewInt(at.Unix()-1_400_000_000), new(big.Int)
	id.Add(id.Lsh(id, 128), big.NewInt(int64(n)))
	text := make([]byte, 27)
	for i := range text {
		id.QuoRem(id, big.NewInt(62), rest)
		text[26-i] = base62[rest.Int64()]
	}
	return string(text)
}

func uuid7(at time.Time, n int) string {
	ms := at.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n)
}

// ticks returns the time of a UUID of version 1 or 6, in 100 ns.
func ticks(at time.Time) int64 {
	return at.Unix()*1e7 + int64(at.Nanosecond())/100 + 0x01B21DD213814000
}

func uuid1(at time.Time, n int) string {
	t := ticks(at)
	return fmt.Sprintf("%08x-%04x-1%03x-8000-%012x", t&0xffffffff, t>>32&0xffff, t>>48&0xfff, n)
}

func uuid6(at time.Time, n int) string {
	t := ticks(at)
	return fmt.Sprintf("%08x-%04x-6%03x-8000-%012x", t>>28, t>>12&0xffff, t&0xfff, n)
}

func ksk(f func(at time.Time, n int) string) func(time.Time, int) row {
	return func(at time.Time, n int) row { return row{"placed": f(at, n)} }
}

func format(layout, after string) func(time.Time, int) row {
	return ksk(func(at time.Time, n int) string { return at.Format(layout) + after + id(n) })
}

func attr(name string, f func(at time.Time, n int) any) func(time.Time, int) row {
	return func(at time.Time, n int) row { return row{"placed": id(n), name: f(at, n)} }
}

var (
	paris = time.FixedZone("CET", 3600)
	delhi = time.FixedZone("IST", 19800)
)

// adoptable are tables as people have them.
var adoptable = []theirs{
	{"ISO and an id", `table.AttributeTime("placed", table.ISO)`, format(isoMillis, "#")},
	{"ISO alone", `("placed", table.ISO)`, ksk(func(at time.Time, _ int) string { return at.Format(time.RFC3339Nano) })},
	{"ISO with offset", `("placed", table.ISO)`, ksk(func(at time.Time, n int) string { return at.In(paris).Format("2006-01-02T15:04:05.000Z07:00#") + id(n) })},
	{"ISO with offsets of two places", `("placed", table.ISO)`, ksk(func(at time.Time, n int) string {
		return at.In([]*time.Location{paris, delhi}[n%2]).Format("2006-01-02T15:04:05-0700#") + id(n)
	})},
	{"ISO without offset", `("placed", table.ISO)`, format("2006-01-02T15:04:05.000000", "|")},
	{"ISO of Python", `("placed", table.ISO)`, format("2006-01-02 15:04:05.000000+00:00", "#")},
	{"ISO of Go", `("placed", table.ISO)`, ksk(func(at time.Time, n int) string { return at.String() + "/" + id(n) })},
	{"ISO in lower case", `("placed", table.ISO)`, format("2006-01-02t15:04:05z", "#")},
	{"ISO with a comma", `("placed", table.ISO)`, format("2006-01-02T15:04:05,000Z", "#")},
	{"ISO of mixed precisions", `("placed", table.ISO)`, ksk(func(at time.Time, n int) string {
		return at.Format([]string{isoPlain, isoMillis, "2006-01-02T15:04Z"}[n%3]) + "#" + id(n)
	})},
	{"ISO in a file's name", `table.After("/", 1, table.ISO)`, ksk(func(at time.Time, n int) string {
		return "logs/" + at.Format("2006-01-02T15-04-05Z_") + id(n) + ".json"
	})},
	{"ISO without separators", `("placed", table.ISO)`, format("20060102T150405Z", "-")},
	{"ISO of digits alone", `("placed", table.ISO)`, format("20060102150405", "_")},
	{"ISO of slashes", `("placed", table.ISO)`, format("2006/01/02 15:04:05", "#")},
	{"days", `("placed", table.ISO)`, format(time.DateOnly, "#")},
	{"weeks", `("placed", table.ISO)`, ksk(func(at time.Time, n int) string { y, w := at.ISOWeek(); return fmt.Sprintf("%d-W%02d#%s", y, w, id(n)) })},
	{"a prefix", `("placed", table.After("#", 1, table.ISO))`, ksk(func(at time.Time, _ int) string { return "ORDER#" + at.Format(isoMillis) })},
	{"two prefixes", `("placed", table.After("#", 1, table.ISO))`, ksk(func(at time.Time, n int) string {
		return []string{"ORDER#", "REFUND#"}[n%2] + at.Format(isoMillis) + "#" + id(n)
	})},
	{"a prefix with an id", `("placed", table.After("#", 3, table.ISO))`, ksk(func(at time.Time, n int) string { return fmt.Sprintf("STORE#%d#ORDER#", n) + at.Format(isoPlain) })},
	{"prefixes of different lengths", `("placed", table.After("/", 0, table.ISO))`, ksk(func(at time.Time, n int) string { return strings.Repeat("dir/", 1+n%3) + at.Format(isoPlain) })},
	{"a prefix of letters", `("placed", table.After("v", 1, table.Unix))`, ksk(func(at time.Time, n int) string { return fmt.Sprint("v", at.UnixMilli()) })},
	{"a day before a ULID", `("placed", table.After("#", 1, table.ULID))`, ksk(func(at time.Time, n int) string { return at.Format(time.DateOnly) + "#" + ulidOf(at, n) })},
	{"ULID", `("placed", table.ULID)`, ksk(ulidOf)},
	{"ULID in lower case after a prefix", `table.After("_", 1, table.ULID)`, ksk(func(at time.Time, n int) string { return "evt_" + strings.ToLower(ulidOf(at, n)) })},
	{"ULID before a suffix", `("placed", table.After("#", 1, table.ULID))`, ksk(func(at time.Time, n int) string { return "EVENT#" + ulidOf(at, n) + "#v0" })},
	{"KSUID", `("placed", table.KSUID)`, ksk(ksuid)},
	{"UUIDv7", `("placed", table.UUID)`, ksk(uuid7)},
	{"UUIDv6 after a prefix", `("placed", table.After("#", 1, table.UUID))`, ksk(func(at time.Time, n int) string { return "M#" + uuid6(at, n) })},
	{"UUIDv1 without hyphens", `("placed", table.UUID)`, ksk(func(at time.Time, n int) string { return strings.ReplaceAll(uuid1(at, n), "-", "") })},
	{"seconds", `("placed", table.Unix)`, func(at time.Time, _ int) row { return row{"placed": num(at.Unix())} }},
	{"milliseconds", `("placed", table.Unix)`, func(at time.Time, _ int) row { return row{"placed": num(at.UnixMilli())} }},
	{"microseconds", `("placed", table.Unix)`, func(at time.Time, _ int) row { return row{"placed": num(at.UnixMicro())} }},
	{"nanoseconds", `("placed", table.Unix)`, func(at time.Time, _ int) row { return row{"placed": num(at.UnixNano())} }},
	{"seconds with decimals", `("placed", table.Unix)`, func(at time.Time, n int) row { return row{"placed": json.Number(fmt.Sprintf("%d.%06d", at.Unix(), n))} }},
	{"a number of date and time", `("placed", table.ISO)`, func(at time.Time, _ int) row { return row{"placed": json.Number(at.Format("20060102150405"))} }},
	{"milliseconds as text", `("placed", table.Unix)`, ksk(func(at time.Time, n int) string { return fmt.Sprint(at.UnixMilli(), "-", n) })},
	{"milliseconds with leading zeros", `("placed", table.Unix)`, ksk(func(at time.Time, n int) string { return fmt.Sprintf("%020d", at.UnixMilli()) })},
	{"seconds, later milliseconds", `("placed", table.Unix)`, ksk(func(at time.Time, n int) string { return fmt.Sprint([]int64{at.Unix(), at.UnixMilli()}[n%2]) })},
	{"Unix, later ISO", `("placed", table.ISO, table.Unix)`, ksk(func(at time.Time, n int) string {
		return []string{fmt.Sprint(at.Unix()), at.Format(isoPlain)}[n%2] + "#" + id(n)
	})},
	{"a profile among orders", `("placed", table.After("#", 1, table.ULID), table.Untimed)`, ksk(func(at time.Time, n int) string {
		if n == 1 {
			return "PROFILE"
		}
		return "ORDER#" + ulidOf(at, n)
	})},
	{"createdAt as ISO", `("createdAt", table.ISO)`, attr("createdAt", func(at time.Time, _ int) any { return at.Format(isoMillis) })},
	{"createdAt in milliseconds", `("createdAt", table.Unix)`, attr("createdAt", func(at time.Time, _ int) any { return num(at.UnixMilli()) })},
	{"createdAt as text of seconds", `("createdAt", table.Unix)`, attr("createdAt", func(at time.Time, _ int) any { return fmt.Sprint(at.Unix()) })},
	{"a map's created_at", `("meta.created_at", table.ISO)`, attr("meta", func(at time.Time, n int) any { return row{"created_at": at.Format(isoPlain), "by": id(n)} })},
	{"a ULID beside the key", `("event", table.ULID)`, attr("event", func(at time.Time, n int) any { return ulidOf(at, n) })},
	{"updatedAt beside createdAt", `("createdAt", table.ISO)`, func(at time.Time, n int) row {
		return row{"placed": id(n), "createdAt": at.Format(isoPlain), "updatedAt": at.Add(-time.Hour).Format(isoPlain), "customerSince": "2019-05-05"}
	}},
	{"an expiry beside a time", `("at", table.Unix)`, func(at time.Time, n int) row {
		return row{"placed": id(n), "at": num(at.Unix()), "ends": num(at.Unix() + 604800), "day": at.Format(time.DateOnly)}
	}},
	{"a credit and an exchange", `("creditedAt", table.ISO)`, func(at time.Time, n int) row {
		return row{"placed": id(n), "creditedAt": at.Format(isoPlain), "exchanged": at.Add(time.Second).Format(isoPlain), "edited": at.Format(time.DateOnly)}
	}},
	{"a KSUID after a prefix", `("placed", table.After("_", 1, table.KSUID))`, ksk(func(at time.Time, n int) string { return "ord_" + ksuid(at, n) })},
	{"hours", `("placed", table.ISO)`, format("2006-01-02T15", "#")},
	{"days of digits", `("placed", table.ISO)`, format("20060102", "#")},
	{"ISO with a space before its offset", `("placed", table.ISO)`, format("2006-01-02 15:04:05 +0000", "#")},
	{"a name and a time", `("placed", table.After("=", 1, table.Unix))`, ksk(func(at time.Time, n int) string { return fmt.Sprintf("ts=%d&order=%d", at.UnixMilli(), n) })},
	{"ISO after a URN", `("placed", table.After(":", 3, table.UUID))`, ksk(func(at time.Time, n int) string { return "shop:urn:uuid:" + uuid7(at, n) })},
	{"ISO in a text of JSON", `("placed", table.After("\"", 3, table.ISO))`, ksk(func(at time.Time, n int) string { return fmt.Sprintf(`{"at":"%s","n":%d}`, at.Format(isoMillis), n) })},
	{"a random key beside a time", `("made", table.ISO)`, func(at time.Time, n int) row { return row{"placed": uuid4(at, n), "made": at.Format(noZone)} }},
}

// refused are tables whose items have no time that adopt can take for their own.
var refused = []theirs{
	{"UUIDs of version 4", "has a time of ISO 8601", ksk(uuid4)},
	{"random texts of a KSUID's length", "has a time of ISO 8601", ksk(func(_ time.Time, n int) string { return draw(n, base62, 27) })},
	{"KSUIDs beside other random texts", "has a time of ISO 8601", ksk(func(at time.Time, n int) string { return []string{ksuid(at, n), draw(n, base62, 27)}[n%2] })},
	{"random texts of a ULID's length", "has a time of ISO 8601", ksk(func(_ time.Time, n int) string { return draw(n, base62[:32], 26) })},
	{"random digests", "has a time of ISO 8601", ksk(func(_ time.Time, n int) string { return draw(n, "0123456789abcdef", 32) })},
	{"snowflakes of one worker", "has a time of ISO 8601", func(at time.Time, n int) row {
		return row{"placed": num((at.UnixMilli()-1_420_070_400_000)<<22 | 7<<12 | int64(n*599))}
	}},
	{"snowflakes of many workers", "has a time of ISO 8601", ksk(func(at time.Time, n int) string {
		return fmt.Sprint("msg#", (at.UnixMilli()-1_420_070_400_000)<<22|int64(n*131)<<12|int64(n%2))
	})},
	{"random numbers of ten digits", "has a time of ISO 8601", ksk(func(_ time.Time, n int) string { return draw(n, "0123456789", 10) })},
	{"random numbers of eight digits", "has a time of ISO 8601", ksk(func(_ time.Time, n int) string { return draw(n, "0123456789", 8) })},
	{"ids of ten digits in order", "has a time of ISO 8601", func(_ time.Time, n int) row { return row{"placed": num(1_000_000_001 + int64(n))} }},
	{"phone numbers", "has a time of ISO 8601", ksk(func(_ time.Time, n int) string { return fmt.Sprintf("06123456%02d", n) })},
	{"numbers of years", "has a time of ISO 8601", ksk(func(_ time.Time, n int) string { return fmt.Sprintf("2026-%04d", n) })},
	{"times that run backwards", "has a time of ISO 8601", func(at time.Time, _ int) row { return row{"placed": num(1<<63 - 1 - at.UnixMilli())} }},
	{"negative numbers", "has a time of ISO 8601", func(_ time.Time, n int) row { return row{"placed": num(-86400 * int64(n+1))} }},
	{"versions", "has a time of ISO 8601", ksk(func(_ time.Time, n int) string { return fmt.Sprintf("v%d.%d.0", n/3, n) })},
	{"times of day", "has a time of ISO 8601", ksk(func(at time.Time, n int) string { return at.Format("15:04:05#") + id(n) })},
	{"addresses", "has a time of ISO 8601", ksk(func(_ time.Time, n int) string { return fmt.Sprintf("10.20.26.%d", n) })},
	{"ids of MongoDB", "has a time of ISO 8601", ksk(func(_ time.Time, n int) string { return draw(n, "0123456789abcdef", 24) })},
	{"only the last change", "updated_at changes, by its name", attr("updated_at", func(at time.Time, _ int) any { return at.Format(isoMillis) })},
	{"only a birthday", "dateOfBirth is not the time of creation", attr("dateOfBirth", func(at time.Time, n int) any { return at.AddDate(-20, 0, n).Format(time.DateOnly) })},
	{"only a validity's end", "validUntil is the time of an expiry", attr("validUntil", func(at time.Time, _ int) any { return num(at.Unix()) })},
	{"only a trip's end", "tripEndsAt is the time of an expiry", attr("tripEndsAt", func(at time.Time, _ int) any { return at.Format(isoMillis) })},
	{"only a session's end", "ends_at is the time of an expiry", attr("ends_at", func(at time.Time, _ int) any { return at.Format(isoMillis) })},
	{"the buyer's ULID", "buyer is another item's id", attr("buyer", func(at time.Time, n int) any { return ulidOf(now.AddDate(-1, 0, 0), n/2) })},
	{"a time that one item lacks", "createdAt has a time, and is missing in 1 of 8", func(at time.Time, n int) row {
		if n == 3 {
			return row{"placed": id(n)}
		}
		return row{"placed": id(n), "createdAt": at.Format(isoMillis)}
	}},
	{"a time that one item spells otherwise", `createdAt has no time in 1 of 8 sampled items, such as "soon"`, attr("createdAt", func(at time.Time, n int) any {
		if n == 3 {
			return "soon"
		}
		return at.Format(isoMillis)
	})},
	{"times at several places", `placed has times at several places, such as in "B#1#2026-01-05T`, ksk(func(at time.Time, n int) string {
		return fmt.Sprintf([]string{"A#%s#x", "B#1#%s"}[n%2], at.Format(isoPlain))
	})},
	{"visits to come", "placed has times in the future", ksk(func(at time.Time, n int) string { return "VISIT#" + at.AddDate(0, 1, 0).Format(isoPlain) })},
	{"local time without offset", "placed has times in the future", ksk(func(at time.Time, n int) string { return at.In(delhi).Format(noZone) })},
}

// draw returns random text, the same for each n.
func draw(n int, alphabet string, length int) string {
	r := rand.New(rand.NewPCG(46, uint64(n)))
	text := make([]byte, length)
	for i := range text {
		text[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(text)
}

func uuid4(_ time.Time, n int) string {
	hex := draw(n, "0123456789abcdef", 30)
	return hex[:8] + "-" + hex[8:12] + "-4" + hex[12:15] + "-a" + hex[15:18] + "-" + hex[18:]
}
