package ddbstream_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// The generators make payloads as Lambda may send them: members in any order, any white space between them, any character
// escaped or not.

func genPayload(t *rapid.T) string {
	records := rapid.SliceOfN(rapid.Custom(genRecord), 0, 4).Draw(t, "records")
	return genObject(t, map[string]string{"Records": "[" + strings.Join(records, ",") + "]"})
}

func genRecord(t *rapid.T) string {
	change := map[string]string{
		"ApproximateCreationDateTime": rapid.SampledFrom([]string{"1.7E9", "1793491200.0", "1793491200", "17934912005e-1"}).Draw(t, "time"),
		"Keys":                        genItem(t, 0),
		"SequenceNumber":              genText(t, fmt.Sprint(rapid.Uint64().Draw(t, "sequence"))),
		"SizeBytes":                   "59",
	}
	for _, image := range []string{"NewImage", "OldImage"} {
		if rapid.Bool().Draw(t, image) {
			change[image] = genItem(t, 0)
		}
	}
	record := map[string]string{
		"eventName": genText(t, rapid.SampledFrom([]string{"INSERT", "MODIFY", "REMOVE"}).Draw(t, "name")),
		"dynamodb":  genObject(t, change),
	}
	if rapid.Bool().Draw(t, "ttl") {
		record["userIdentity"] = genObject(t, map[string]string{
			"type": genText(t, "Service"), "principalId": genText(t, "dynamodb.amazonaws.com"),
		})
	}
	return genObject(t, record)
}

func genItem(t *rapid.T, depth int) string {
	item := make(map[string]string)
	if depth == 0 && rapid.IntRange(0, 9).Draw(t, "has a key") > 0 {
		item["pk"] = `{"S":` + genText(t, rapid.String().Draw(t, "key")) + `}`
	}
	for range rapid.IntRange(0, 4).Draw(t, "attributes") {
		item[rapid.String().Draw(t, "name")] = genValue(t, depth)
	}
	return genObject(t, item)
}

func genValue(t *rapid.T, depth int) string {
	kinds := []string{"S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M"}
	if depth > 2 {
		kinds = kinds[:8]
	}
	kind := rapid.SampledFrom(kinds).Draw(t, "type")
	return fmt.Sprintf(`{"%s":%s}`, kind, genContent(t, kind, depth))
}

func genContent(t *rapid.T, kind string, depth int) string {
	list := func(element func() string) string {
		var elements []string
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			elements = append(elements, element())
		}
		return "[" + strings.Join(elements, ",") + "]"
	}
	switch kind {
	case "S":
		if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
			return `"` + strings.Repeat("x", rapid.IntRange(1000, 5000).Draw(t, "length")) + `"`
		}
		return genText(t, rapid.String().Draw(t, "text"))
	case "N":
		return genText(t, genNumber(t))
	case "B":
		return genText(t, base64.StdEncoding.EncodeToString(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes")))
	case "BOOL":
		return fmt.Sprint(rapid.Bool().Draw(t, "flag"))
	case "NULL":
		return "true"
	case "L":
		return list(func() string { return genValue(t, depth+1) })
	case "M":
		return genItem(t, depth+1)
	}
	return list(func() string { return genContent(t, kind[:1], depth) })
}

func genNumber(t *rapid.T) string {
	number := rapid.StringMatching(`-?[0-9]{1,20}(\.[0-9]{1,18})?`).Draw(t, "number")
	if rapid.Bool().Draw(t, "scientific") {
		number += fmt.Sprintf("E%d", rapid.IntRange(-140, 140).Draw(t, "exponent"))
	}
	return number
}

func genObject(t *rapid.T, members map[string]string) string {
	var b strings.Builder
	space := func() { b.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r\n  "}).Draw(t, "space")) }
	b.WriteByte('{')
	for i, name := range rapid.Permutation(slices.Sorted(maps.Keys(members))).Draw(t, "order") {
		if i > 0 {
			b.WriteByte(',')
		}
		space()
		b.WriteString(genText(t, name))
		space()
		b.WriteByte(':')
		space()
		b.WriteString(members[name])
	}
	space()
	b.WriteByte('}')
	return b.String()
}

// genText returns a JSON string with any of its characters escaped.
func genText(t *rapid.T, s string) string {
	all := rapid.IntRange(0, 3).Draw(t, "escape all") == 0
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c > 0xffff && all:
			c -= 0x10000
			fmt.Fprintf(&b, `\u%04X\u%04x`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		case (c == '"' || c == '\\') && !all:
			b.WriteString(`\` + string(c))
		case c < ' ' || all:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
