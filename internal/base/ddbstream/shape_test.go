package ddbstream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestAlmostAlike checks that records that differ in one place decode in one batch as they do alone. Values and faults
// are the same.
func TestAlmostAlike(t *testing.T) {
	first := record("MODIFY", `"ApproximateCreationDateTime":1.7E9,"Keys":{"pk":{"S":"a"}},
		"NewImage":{"pk":{"S":"a"},"n":{"N":"12.5"},"m":{"M":{"b":{"B":"AAE="},"l":{"L":[{"S":"x"},{"BOOL":true}]}}},"ns":{"NS":["1"]}},
		"OldImage":{"pk":{"S":"a"}},"SequenceNumber":"17","SizeBytes":59`)
	for old, replacements := range map[string][]string{
		`"eventID":"1"`:         {`"eventID":"\u0032"`, `"eventID":[{}]`, `"eventID": "1"`, `"eventID":null`, `"eventID":tru`, `"eventID":"1`},
		`1.7E9`:                 {`1700000001`, `null`, `"1.7E9"`, ` 1.7E9`, `1.7E`, `1e300`, `01`},
		`"17"`:                  {`"\u00318"`, `null`, `18`, `""`, `"18" `, `"1`, "\"\xff\""},
		`"pk":{"S":"a"},"n"`:    {`"pk":{"S":"a\n"},"n"`, `"pk":{"S":"é"},"n"`, `"pk":{"S":"` + strings.Repeat("x", 3000) + `"},"n"`, `"pk":{"S": "a"},"n"`, `"pk":{"N":"1"},"n"`, `"pk":{"S":1},"n"`, `"n":{"S":"a"},"n"`, "\"pk\":{\"S\":\"\t\"},\"n\"", `"pk":{"S":"a"}},"n"`},
		`12.5`:                  {`-7`, `1e5`, `007`, `\u0031`, `one`, ``, `1e9999`},
		`AAE=`:                  {`AA==`, `A\u0041==`, `A`, `\/\/\/\/`},
		`[{"S":"x"},`:           {`[{"S":"x"},{"S":"x"},`, `[`, `[{"S":"x"}],`, `[{"SS":["x"]},`, `[{"NULL":true},`},
		`["1"]`:                 {`[]`, `["1","2"]`, `["x"]`, `"1"`},
		`"OldImage"`:            {`"oldImage"`, `"NewImage"`, `"Old\u0049mage"`},
		`59`:                    {`60`, `5.9e1`, `null`, `"x"`, `5 `, `05`},
		`"eventName":"MODIFY",`: {`"eventName":"REMOVE",`, `"eventName":"UPSERT",`, ``, `"eventName":"MODIFY","userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"},`},
	} {
		if strings.Count(first, old) != 1 {
			t.Fatalf("%s is in the record %d times", old, strings.Count(first, old))
		}
		for _, changed := range replacements {
			second := strings.Replace(first, old, changed, 1)
			for _, records := range [][]string{{first, second}, {first, second, first, second, first}, {second, first, first}} {
				if err := together(records); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestEveryByte checks each byte at each position of an eight-byte word, in texts and names.
func TestEveryByte(t *testing.T) {
	for c := range 256 {
		for n := range 18 {
			text := strings.Repeat("y", n) + string([]byte{byte(c)}) + strings.Repeat("z", 17-n)
			for _, item := range []string{`{"a":{"S":"%s"}}`, `{"%s":{"S":"a"}}`} {
				item = fmt.Sprintf(item, text)
				batch, err := ddbstream.Decode([]byte(`{"Records":[` + record("INSERT", `"SequenceNumber":"1","Keys":{},"NewImage":`+item) + `]}`))
				if (err == nil) != valid([]byte(item)) {
					t.Fatalf("%q: %v, valid JSON: %t", item, err, valid([]byte(item)))
				}
				if err != nil {
					continue
				}
				want := 18 + 1
				if c >= 0x80 { // invalid UTF-8
					want += 2
				}
				if size, err := batch.Records[0].New.Size(); size != want || err != nil {
					t.Errorf("%q has size %d, %v; want %d", item, size, err, want)
				}
			}
		}
	}
}

// TestDecoderForgets checks that a decoder whose payloads come in one buffer, as in Lambda, decodes each as a new decoder
// does.
func TestDecoderForgets(t *testing.T) {
	var decoder ddbstream.Decoder
	buffer := make([]byte, 4096)
	for i := range 20 {
		var records []string
		for j := range i % 7 {
			records = append(records, record("INSERT", fmt.Sprintf(`"SequenceNumber":"%d","Keys":{"k%d":{"S":"%d"}}`, i+j, i%3, i*j)))
		}
		payload := `{"Records":[` + strings.Join(records, ",") + `]}`
		batch, err := decoder.Decode(buffer[:copy(buffer, payload)])
		require.NoError(t, err)
		if got, want := fmt.Sprintf("%+v", *batch), fmt.Sprintf("%+v", *decode(t, payload)); got != want {
			t.Errorf("%s:\ngot %s\nwant %s", payload, got, want)
		}
		if i%2 == 0 {
			decoder.Release()
		}
	}
}
