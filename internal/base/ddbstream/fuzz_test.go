package ddbstream_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/test/require"
)

// foldable has the member names that aws-lambda-go, the stock decoder, accepts in any case.
var foldable = []string{
	"Records", "eventName", "userIdentity", "type", "principalId", "dynamodb",
	"ApproximateCreationDateTime", "Keys", "NewImage", "OldImage", "SequenceNumber",
}

// folds reports whether a member has a name that only the stock decoder knows, because it ignores case.
func folds(value any) bool {
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			if folds(e) {
				return true
			}
		}
	case map[string]any:
		for name, e := range v {
			for _, known := range foldable {
				if name != known && strings.EqualFold(name, known) {
					return true
				}
			}
			if folds(e) {
				return true
			}
		}
	}
	return false
}

// FuzzDecode checks that only valid JSON decodes, and that the stock decoder agrees with the values.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"records.json", "window.json", "malformed.json"} {
		seed, err := os.ReadFile("testdata/" + name)
		require.NoError(f, err)
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		if _, err := ddbstream.Decode(payload); err == nil && !valid(payload) {
			t.Fatalf("invalid JSON was decoded: %q", payload)
		}
		if !jsontext.Value(payload).IsValid(jsontext.AllowInvalidUTF8(true)) { // it has duplicate names
			return
		}
		var value any
		if json.Unmarshal(payload, &value) == nil && folds(value) {
			return
		}
		if _, err := compare(payload); err != nil {
			t.Errorf("%v: %s", err, payload)
		}
	})
}

// valid reports whether text is JSON.
func valid(text []byte) bool {
	return jsontext.Value(text).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// FuzzSyntax checks that any text, as an unused value and as an image, decodes exactly if it is valid JSON.
func FuzzSyntax(f *testing.F) {
	for _, seed := range []string{
		`{"a":{"S":"x"},"b":{"N":"-1.5E3"},"c":{"L":[{"M":{}},{"NULL":true}]}}`, `{"a":1,"\u0061":2}`, `[1,-0.5e+7,true,false,null,{}]`,
		"\"\\ud83d\\ude00\\ud800\\/\xff é\"", `{"a":{"SS":["x","y"],"NS":["1"],"BS":["AA=="]}}`, `01`, `1.`, `"\x"`, "\"\t\"", `{"a":1,}`, `[1,]`, `tru`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Count(string(text), "[")+strings.Count(string(text), "{") > 400 {
			return // it may exceed the nesting limit
		}
		for _, around := range []string{`{"Records":[],"x":%s}`, `{"Records":[{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{},"NewImage":%s}}]}`} {
			payload := fmt.Appendf(nil, around, text)
			if _, err := ddbstream.Decode(payload); (err == nil) != valid(payload) {
				t.Errorf("%q: %v, valid JSON: %v", payload, err, valid(payload))
			}
		}
	})
}

// fuzz makes a check on inputs that gen makes from seeds.
func fuzz[T any](f *testing.F, gen func(*rapid.T) T, check func(T) error) {
	generator := rapid.Custom(gen)
	for seed := range 10 {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int) {
		if err := check(generator.Example(seed)); err != nil {
			t.Error(err)
		}
	})
}

// FuzzAgreesWithStock compares decoded payloads of all types, escapes and orders with the stock decoder's.
func FuzzAgreesWithStock(f *testing.F) { fuzz(f, genPayload, agreesWithStock) }

func agreesWithStock(payload string) error {
	if agreed, err := compare([]byte(payload)); !agreed || err != nil {
		_, decodeErr := ddbstream.Decode([]byte(payload))
		return fmt.Errorf("agreed %v, %w, decode %v: %s", agreed, err, decodeErr, payload)
	}
	return nil
}

// FuzzRecordsTogether checks that equal and similar records decode in one batch as they do alone.
func FuzzRecordsTogether(f *testing.F) { fuzz(f, genRecords, together) }

func genRecords(t *rapid.T) []string {
	var records []string
	for range rapid.IntRange(1, 3).Draw(t, "kinds") {
		record := genRecord(t)
		for range rapid.IntRange(1, 4).Draw(t, "records") {
			records = append(records, record)
			record = genChange(t, record)
		}
	}
	return rapid.Permutation(records).Draw(t, "order")
}

var (
	stringText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"\s*:?`)

	// values replace a string. The first is valid for each type.
	values = []string{`"1234"`, `"1234"`, `"1234"`, `"1234"`, `"AAAA"`, `"12.5"`, `"-7"`, `"é\n"`, `"\u0031"`, ``, `1`, `null`, ` "1234"`, `"1234","1234"`, `"` + strings.Repeat("y", 1500) + `"`}
	pieces = []string{"", "x", "7", " ", `\"`, `"`, "\xff", "}", "]", ",", ":", `{"S":"x"}`, "null", "\x01"}
)

// genChange changes up to four values or bytes of a record, which may become invalid.
func genChange(t *rapid.T, record string) string {
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		strs := slices.DeleteFunc(stringText.FindAllStringIndex(record, -1), func(at []int) bool { return record[at[1]-1] == ':' })
		if len(strs) > 0 && rapid.IntRange(0, 9).Draw(t, "value") > 0 {
			at := rapid.SampledFrom(strs).Draw(t, "string")
			record = record[:at[0]] + rapid.SampledFrom(values).Draw(t, "by") + record[at[1]:]
			continue
		}
		at := rapid.IntRange(0, len(record)).Draw(t, "at")
		end := min(len(record), at+rapid.IntRange(0, 3).Draw(t, "cut"))
		record = record[:at] + rapid.SampledFrom(pieces).Draw(t, "piece") + record[end:]
	}
	return record
}

func together(records []string) error {
	payload := `{"Records":[` + strings.Join(records, ",") + `]}`
	batch, err := ddbstream.Decode([]byte(payload))
	if (err == nil) && !valid([]byte(payload)) {
		return fmt.Errorf("invalid JSON was decoded: %q", payload)
	}
	if err != nil && strings.Contains(err.Error(), ": at byte ") && valid([]byte(payload)) {
		return fmt.Errorf("valid JSON was not decoded: %q: %w", payload, err)
	}
	if err != nil || len(batch.Records) != len(records) { // a change may have split a record in two
		return nil
	}
	for i, record := range records {
		alone, err := ddbstream.Decode([]byte(`{"Records":[` + record + `]}`))
		if err != nil {
			return fmt.Errorf("record %d decodes only with others: %q: %w", i, payload, err)
		}
		if diff := cmp.Diff(fmt.Sprintf("%+v", alone.Records[0]), fmt.Sprintf("%+v", batch.Records[i])); diff != "" {
			return fmt.Errorf("record %d of %q (-alone +together):\n%s", i, payload, diff)
		}
	}
	return nil
}

// FuzzTruncated checks that no payload decodes that is cut at any byte.
func FuzzTruncated(f *testing.F) { fuzz(f, genPayload, truncated) }

func truncated(payload string) error {
	for n := range len(payload) {
		if batch, err := ddbstream.Decode([]byte(payload[:n])); err == nil {
			return fmt.Errorf("the first %d bytes decode, as %+v: %s", n, batch, payload)
		}
	}
	return nil
}
