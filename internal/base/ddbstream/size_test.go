package ddbstream_test

import (
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

// image decodes an item from a payload.
func image(t *testing.T, item string) ddbstream.Image {
	t.Helper()
	return decode(t, `{"Records":[`+record("INSERT", `"SequenceNumber":"1","Keys":{},"NewImage":`+item)+`]}`).Records[0].New
}

// wantSize checks an item's size.
func wantSize(t *testing.T, item string, want int) {
	t.Helper()
	if got, err := image(t, item).Size(); got != want || err != nil {
		t.Errorf("%s: %d, %v; want %d", item, got, err, want)
	}
}

// TestNumberSize checks the sizes that DynamoDB Local 1.25.1 and 3.3.1 reported for these numbers, as SizeBytes of stream
// records.
func TestNumberSize(t *testing.T) {
	const long = "12345678901234567890123456789012345678"
	measured := map[string]int{
		"0": 1, "1": 2, "12": 2, "123": 3, "1234": 3, "12345": 4, "-1": 3, "-12": 3, "-123": 4, "-1234": 4,
		"100": 2, "1000": 2, "120": 3, "1200": 2, "12000": 3, "101": 3, "1001": 3, "10001": 4,
		"1.5": 3, "0.5": 2, "0.05": 2, "0.005": 2, "12.3": 3, "1.23": 3, "0.123": 3, "10.01": 3, "-0.5": 3, "0.12": 2, "0.012": 3,
		"1e10": 2, "1E11": 2, "1.5e-10": 3, "1.5e-11": 2, "-1e125": 3, "1e-130": 2, "-1.5E-129": 3,
		long: 20, "-" + long: 21, long[:1] + "." + long[1:]: 21, "-" + long[:1] + "." + long[1:]: 21, "-" + long + "0": 21, long + "00": 20,
		"1793491200123456": 9,
	}
	for number, want := range measured {
		wantSize(t, `{"n":{"N":"`+number+`"}}`, 1+want)
	}
}

// TestDocumentSize checks sizes that DynamoDB Local reported. Those of nested documents are calculated.
func TestDocumentSize(t *testing.T) {
	cases := []struct {
		item string
		want int
	}{
		{`{}`, 0},
		{`{"aé":{"S":"\u00e9\n"}}`, 3 + 3},
		{`{"a":{"S":"\ud800"}}`, 1 + 3},
		{`{"a":{"L":[]}}`, 1 + 3},
		{`{"a":{}}`, 1 + 3}, // an empty map in DynamoDB Local's streams
		{`{"a":{"L":[{"S":"a"}]}}`, 1 + 5},
		{`{"a":{"M":{"k":{"S":"a"}}}}`, 1 + 6},
		{`{"a":{"M":{"k":{"L":[{"NULL":true}, {"M":{}}]}}}}`, 1 + 3 + 1 + 1 + 3 + 2 + 4},
		{`{"a":{"NULL":true},"b":{"BOOL":false}}`, 4},
		{`{"a":{"SS":["a","bc"]}}`, 4},
		{`{"a":{"NS":["1","-2"]}}`, 6},
		{`{"a":{"B":"YWJj"}}`, 4},
		{`{"a":{"BS":["YWJj","ZA=="]}}`, 5},
		{`{"a":{"S":""}}`, 1},
		{`{"a":{"L":[{"S":"ab"},{"N":"1"}]}}`, 1 + 3 + 2 + 2 + 2},
	}
	for _, c := range cases {
		wantSize(t, c.item, c.want)
	}
}

// TestSizeMalformed checks the errors for the size of malformed items.
func TestSizeMalformed(t *testing.T) {
	cases := []struct{ item, want string }{
		{`{"a":5}`, "want {"},
		{`{"a":{"S":"a","N":"1"}}`, "2 types"},
		{`{"a":{"X":"a"}}`, "unknown type"},
		{`{"a":{"S":5}}`, "want a string"},
		{`{"a":{"N":"one"}}`, "not a number"},
		{`{"a":{"N":""}}`, "not a number"},
		{`{"a":{"N":"1e"}}`, "not a number"},
		{`{"a":{"N":"1e9999999999"}}`, "not a number"},
		{`{"a":{"N":"1e9999"}}`, "not a number"},
		{`{"a":{"N":"1.2.3"}}`, "not a number"},
		{`{"a":{"B":"?"}}`, "base64"},
		{`{"a":{"BS":[1]}}`, "want a string"},
		{`{"a":{"BOOL":"true"}}`, "want a boolean"},
		{`{"a":{"SS":"x"}}`, "want ["},
		{`{"a":{"L":{}}}`, "want ["},
		{`{"a":{"M":[]}}`, "want {"},
		{`{"a":` + strings.Repeat(`{"L":[`, 70) + strings.Repeat(`]}`, 70) + `}`, "nested more than"},
	}
	for _, c := range cases {
		img := image(t, c.item)
		size, err := img.Size()
		if err == nil || size != 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d, %v; want an error with %q", c.item, size, err, c.want)
		}
		if s, ok := img.Key("a"); ok && !strings.Contains(c.want, "number") && c.want != "base64" {
			t.Errorf("%s: a = %q", c.item, s)
		}
	}
}

// TestWriteUnits checks that a record costs a unit for each started KB of the larger image, and at least one.
func TestWriteUnits(t *testing.T) {
	item := func(size int) string { return `{"a":{"S":"` + strings.Repeat("x", size-1) + `"}}` }
	cases := []struct {
		change string
		want   int
	}{
		{``, 1}, // KEYS_ONLY
		{`,"NewImage":` + item(1024), 1},
		{`,"NewImage":` + item(1025), 2},
		{`,"NewImage":` + item(10) + `,"OldImage":` + item(2049), 3},
		{`,"NewImage":` + item(400*1024) + `,"OldImage":` + item(1), 400},
	}
	for _, c := range cases {
		batch := decode(t, `{"Records":[`+record("MODIFY", `"SequenceNumber":"1","Keys":{}`+c.change)+`]}`)
		if got, err := batch.Records[0].WriteUnits(); got != c.want || err != nil {
			t.Errorf("%.80s: %d, %v; want %d", c.change, got, err, c.want)
		}
	}
	batch := decode(t, `{"Records":[`+record("MODIFY", `"SequenceNumber":"77","Keys":{},"OldImage":{"a":{"S":1}}`)+`]}`)
	if _, err := batch.Records[0].WriteUnits(); err == nil || !strings.Contains(err.Error(), "record 77") {
		t.Errorf("a malformed image: %v", err)
	}
}
