package table_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

const noTime = "none"

// TestTimeForms checks what each form reads.
func TestTimeForms(t *testing.T) {
	const noon = "2026-01-05T12:00:45Z"
	for name, c := range map[string]struct {
		form  table.TimeForm
		texts map[string]string // RFC 3339, or noTime
	}{
		"ISO": {table.ISO, map[string]string{
			noon: noon, "2026-01-05T12:00:45": noon, "2026-01-05t12:00:45z": noon, "2026-01-05 12:00:45": noon, "2026-01-05_12:00:45Z": noon,
			"2026-01-05T13:00:45+01:00": noon, "2026-01-05T07:00:45-0500": noon, "2026-01-05 12:00:45+00": noon, "2026-01-05T17:30:45+05:30#x": noon,
			"2026-01-05 12:00:45 +0000 UTC": noon, "2026-01-05 12:00:45 UTC": noon, "2026-01-05T13:00:45+01:00[Europe/Paris]": noon, "2026/01/05 12:00:45": noon,
			"20260105T120045Z": noon, "20260105t120045z": noon, "20260105T130045+0100": noon, "20260105120045": noon, "2026-01-05T12:00:45Z#order-1": noon,
			"2026-01-05T12:00:45-order-1": noon, "2026-01-05T12:00:45-7": noon, "2026-01-05T12:00:45-99": noon, "2026-01-05T12:00:45-0712": noon, "2026-01-05T12-00-45Z#x": noon, "2026-01-05_12-00-45-07": "2026-01-05T19:00:45Z", "2026-01-05 12.00.45.5": "2026-01-05T12:00:45.5Z",
			"2026-01-05T12-07": "2026-01-05T12:07:00Z", "2026-01-05T12-07:00": "2026-01-05T19:00:00Z", "2026-01-05T12-0700": "2026-01-05T19:00:00Z", "2026-01-05_12-7": "2026-01-05T00:00:00Z", "2026-01-05T12:00:45|x": noon,
			"2026-01-05T12:00:45.490Z": "2026-01-05T12:00:45.49Z", "2026-01-05T12:00:45,490Z": "2026-01-05T12:00:45.49Z", "2026-01-05T12:00:45.4": "2026-01-05T12:00:45.4Z",
			"2026-01-05T12:00:45.123456789Z": "2026-01-05T12:00:45.123456789Z", "2026-01-05T12:00:45.1234567891234+00:00": "2026-01-05T12:00:45.123456789Z",
			"20260105T120045.123Z": "2026-01-05T12:00:45.123Z", "20260105T120045,5+0000": "2026-01-05T12:00:45.5Z", "20260105120045123": "2026-01-05T12:00:45.123Z", "20260105120045.123456": "2026-01-05T12:00:45.123456Z",
			"2026-01-05T12:00Z": "2026-01-05T12:00:00Z", "2026-01-05T12": "2026-01-05T12:00:00Z", "2026-01-05T12Z": "2026-01-05T12:00:00Z", "202601051200": "2026-01-05T12:00:00Z", "20260105T1200": "2026-01-05T12:00:00Z",
			"2026-01-05": "2026-01-05T00:00:00Z", "2026-01-05#order": "2026-01-05T00:00:00Z", "2026-01-05-7": "2026-01-05T00:00:00Z", "2026-01-05_42": "2026-01-05T00:00:00Z", "20260105": "2026-01-05T00:00:00Z", "2026.01.05": "2026-01-05T00:00:00Z",
			"2026-W02-1": "2026-01-05T00:00:00Z", "2026W023": "2026-01-07T00:00:00Z", "2026-W02#x": "2026-01-05T00:00:00Z", "2026-W53-7": "2027-01-03T00:00:00Z", "2025-W53": noTime, "2024-W01-1": "2024-01-01T00:00:00Z",
			"2026-12-31T23:59:60Z": "2027-01-01T00:00:00Z", "2026-12-31T24:00:00Z": "2027-01-01T00:00:00Z", "2024-02-29": "2024-02-29T00:00:00Z", "1969-12-31T23:59:59Z": "1969-12-31T23:59:59Z",
			"": noTime, "2026": noTime, "2026-01": noTime, "2026-02-29": noTime, "2026-13-01": noTime, "2026-00-10": noTime, "2026-01-05x": noTime, "2026-01-05T25:00:00Z": noTime, "2026-01-05T12:61": noTime, "20261305": noTime,
			"2026010512004512": noTime, "1767614445": noTime, "1767614445123": noTime, "x2026-01-05": noTime, "05/01/2026": noTime, "2026-01-05T12:00:45Zulu": noTime, "20260105T120045Zulu": noTime,
		}},
		"Unix": {table.Unix, map[string]string{
			"1767614445": noon, "1767614445000": noon, "1767614445000000": noon, "1767614445000000000": noon, "0001767614445000": noon, "00000000001767614445": noon,
			"1767614445#x": noon, "1767614445-7": noon, "1767614445.0": noon, "1767614445.5": "2026-01-05T12:00:45.5Z", "1767614445123.25": "2026-01-05T12:00:45.12325Z", "1767614445.123456": "2026-01-05T12:00:45.123456Z",
			"1767614445123": "2026-01-05T12:00:45.123Z", "1767614445123456": "2026-01-05T12:00:45.123456Z", "1767614445123456789": "2026-01-05T12:00:45.123456789Z",
			"-1": "1969-12-31T23:59:59Z", "-1.5": "1969-12-31T23:59:58.5Z", "0": "1970-01-01T00:00:00Z", "99999999999": "5138-11-16T09:46:39Z", "100000000000": "1973-03-03T09:46:40Z",
			"": noTime, "-": noTime, "x": noTime, "12ab": noTime, "9999999999999999999": noTime, "+1": noTime, "1e9": noTime,
		}},
		"ULID": {table.ULID, map[string]string{
			"01KE6RPM5D0000000000000000": "2026-01-05T09:44:36.269Z", "01ke6rpm5dzzzzzzzzzzzzzzzz": "2026-01-05T09:44:36.269Z", "01KE6RPM5DZZZZZZZZZZZZZZZZ#x": "2026-01-05T09:44:36.269Z",
			"": noTime, "01KE6RPM5D": noTime, "01KE6RPM5D00000000000000000": noTime, "81KE6RPM5D0000000000000000": noTime, "01KE6RPM5D000000000000000U": noTime, "01KE6RPM5D00000000000000-0": noTime,
		}},
		"KSUID": {table.KSUID, map[string]string{
			"0ujtsYcgvSTl8PAuAdqWYSMnLOv": "2017-10-10T04:00:47Z", "0ujtsYcgvSTl8PAuAdqWYSMnLOv.x": "2017-10-10T04:00:47Z", "000000000000000000000000000": "2014-05-13T16:53:20Z", "aWgEPTl1tmebfsQzFP4bxwgy80V": "2150-06-19T23:21:35Z",
			"": noTime, "0ujtsYcgvSTl8PAuAdqWYSMnLO": noTime, "0ujtsYcgvSTl8PAuAdqWYSMnLOvv": noTime, "aWgEPTl1tmebfsQzFP4bxwgy80W": noTime, "0ujtsYcgvSTl8PAuAdqWYSMnL-v": noTime, "-ujtsYcgvSTl8PAuAdqWYSMnLOv": noTime,
		}},
		"UUID": {table.UUID, map[string]string{ // versions 1, 6 and 7 are those of RFC 9562
			"C232AB00-9414-11EC-B3C8-9F6BDECED846": "2022-02-22T19:22:22Z", "1EC9414C-232A-6B00-B3C8-9F6BDECED846": "2022-02-22T19:22:22Z", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F": "2022-02-22T19:22:22Z",
			"c232ab00-9414-11ec-b3c8-9f6bdeced846#x": "2022-02-22T19:22:22Z", "c232ab01-9414-11ec-b3c8-9f6bdeced846": "2022-02-22T19:22:22.0000001Z", "017f22e279b07cc398c4dc0c0c07398f": "2022-02-22T19:22:22Z",
			"": noTime, "919108f7-52d1-4320-9bac-f847db4148a8": noTime, "5df41881-3aed-3515-88a7-2f4a814cf09e": noTime, "017f22e2-79b0-7cc3-18c4-dc0c0c07398f": noTime, "017f22e2-79b07cc3-98c4-dc0c0c07398f": noTime,
			"017f22e279b07cc398c4dc0c0c07398f0": noTime, "017f22e2-79b0-7cc3-98c4-dc0c0c07398": noTime,
		}},
		"after the 2nd #": {table.After("#", 2, table.ISO), map[string]string{
			"a#b#2026-01-05T12:00:45Z": noon, "##2026-01-05T12:00:45Z#c": noon, "a#2026-01-05T12:00:45Z": noTime, "2026-01-05T12:00:45Z": noTime, "": noTime, "a#b#": noTime,
		}},
		"after the last ::": {table.After("::", 0, table.Unix), map[string]string{
			"a::1767614445": noon, "a::b::1767614445": noon, "::1767614445": noon, "1767614445": noTime, "": noTime, "a::": noTime, "1767614445::a": noTime,
		}},
		"after letters":      {table.After("ORD", 1, table.Unix), map[string]string{"ORD1767614445": noon, "1767614445": noTime}},
		"without a time too": {table.Untimed, map[string]string{"": "1970-01-01T00:00:00Z", "PROFILE": "1970-01-01T00:00:00Z"}},
	} {
		for text, want := range c.texts {
			got, err := c.form(text)
			if _, isKey := errors.AsType[*shard.KeyError](err); (want == noTime) != (err != nil) || err != nil && !isKey {
				t.Errorf("%s of %q: %v, %v; want %s", name, text, got, err, want)
			} else if err == nil && got.Format(time.RFC3339Nano) != want {
				t.Errorf("%s of %q: %s, want %s", name, text, got.Format(time.RFC3339Nano), want)
			}
		}
	}
}

// TestAttributeTime checks which attribute is read, and which of several forms counts.
func TestAttributeTime(t *testing.T) {
	in := func(name string, v types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: table.Item{name: v}}
	}
	for name, c := range map[string]struct {
		it    table.Item
		attr  string
		forms []table.TimeForm
		want  int64 // in Unix seconds
		fault string
	}{
		"a number": {table.Item{"made": libtest.Num(1767614445)}, "made", nil, 1767614445, ""},
		"a number in the form that a program writes": {table.Item{"made": dynamo.Decimal("1.767614445E9")}, "made", nil, 1767614445, ""},
		"a text":              {table.Item{"made": libtest.Str("01767614445")}, "made", nil, 1767614445, ""},
		"a map's":             {table.Item{"meta": in("made", libtest.Num(7))}, "meta.made", nil, 7, ""},
		"a map's map's":       {table.Item{"meta": in("at", in("made", libtest.Num(7)))}, "meta.at.made", nil, 7, ""},
		"a name with a point": {table.Item{"meta.made": libtest.Num(8), "meta": in("made", libtest.Num(7))}, "meta.made", nil, 8, ""},
		"the second form":     {table.Item{"made": libtest.Str("1767614445")}, "made", []table.TimeForm{table.ISO, table.Unix}, 1767614445, ""},
		"the first form":      {table.Item{"made": libtest.Str("20260105")}, "made", []table.TimeForm{table.ISO, table.Unix}, 1767571200, ""},
		"no form":             {table.Item{"made": libtest.Str("x")}, "made", []table.TimeForm{table.ISO, table.Unix}, 0, `attribute made is "x", which none of its TimeForms can read (if none are given: Unix)`},
		"no attribute":        {table.Item{"at": libtest.Num(7)}, "made", nil, 0, "the item has no string or number made"},
		"another type":        {table.Item{"made": &types.AttributeValueMemberBOOL{Value: true}}, "made", nil, 0, "no string or number made"},
		"no map":              {table.Item{"meta": libtest.Num(7)}, "meta.made", nil, 0, "no string or number meta.made"},
		"a map without it":    {table.Item{"meta": in("at", libtest.Num(7))}, "meta.made", nil, 0, "no string or number meta.made"},
		"the map itself":      {table.Item{"meta": in("at", libtest.Num(7))}, "meta", nil, 0, "no string or number meta"},
	} {
		at, err := table.AttributeTime(c.attr, c.forms...)(c.it)
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(fmt.Sprint(err), c.fault) || err == nil && at.Unix() != c.want {
			t.Errorf("%s: %v, %v; want %d and %q", name, at, err, c.want, c.fault)
		}
	}
}
