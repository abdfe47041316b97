package ddbstream_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestSame checks that two images are compared by one attribute's value, and not by its text.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		old, new string
		want     bool
	}{
		{`"data":{"M":{"a":{"N":"1"},"b":{"S":"é"}}}`, `"data": {"M":{"b":{"S":"\u00e9"},"a":{"N":"1"}}}`, true},
		{`"data":{"M":{"a":{"N":"1"}}}`, `"data":{"M":{"a":{"N":"2"}}}`, false},
		{`"data":{"M":{"a":{"N":"1"}}}`, `"data":{"M":{"a":{"S":"1"}}}`, false},
		{`"data":{"M":{"a":{"N":"9007199254740993"}}}`, `"data":{"M":{"a":{"N":"9007199254740992"}}}`, false},
		{`"data":{"L":[{"N":"1"},{"N":"2"}]}`, `"data":{"L":[{"N":"2"},{"N":"1"}]}`, false},
		{`"data":{"M":{}}`, `"other":{"N":"1"}`, false},
		{`"other":{"N":"2"}`, `"other":{"N":"1"}`, true},
	} {
		batch, err := ddbstream.Decode(fmt.Appendf(nil, `{"Records":[{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"1",
			"Keys":{"pk":{"S":"a"}},"OldImage":{%s},"NewImage":{%s}}}]}`, c.old, c.new))
		require.NoError(t, err)
		r := batch.Records[0]
		if r.New.Same(r.Old, "data") != c.want || r.Old.Same(r.New, "data") != c.want {
			t.Errorf("%s and %s: want %t", c.old, c.new, c.want)
		}
	}
	if !(ddbstream.Image{}).Same(ddbstream.Image{}, "data") {
		t.Error("an attribute differs between two absent images")
	}
}

// TestNumbers checks which attributes are maps whose numbers are read; other members are left out.
func TestNumbers(t *testing.T) {
	for attribute, want := range map[string]map[string]string{
		`{"M":{"0":{"N":"12"},"17":{"N":"3"},"x":{"S":"3"},"y":{"M":{"1":{"N":"1"}}}}}`: {"0": "12", "17": "3"},
		`{"M":{}}`: {}, `{}`: {}, `{"M":{"a":{},"b":{"N":"1"}}}`: {"b": "1"}, `{"N":"1"}`: nil, `{"L":[{"N":"1"}]}`: nil, `{"S":"M"}`: nil, `{"M":[]}`: nil, `{"M":{"a":1}}`: nil,
	} {
		batch, err := ddbstream.Decode([]byte(`{"Records":[{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1",
			"Keys":{"pk":{"S":"a"}},"NewImage":{"other":{"N":"7"},"shards":` + attribute + `}}}]}`))
		require.NoError(t, err)
		got, ok := batch.Records[0].New.Numbers("shards")
		if want == nil {
			got = nil // numbers before a fault are of no use
		}
		if diff := cmp.Diff(want, got); diff != "" || ok != (want != nil) {
			t.Errorf("%s: %v (-want +got):\n%s", attribute, ok, diff)
		}
		if _, ok := batch.Records[0].New.Numbers("absent"); ok {
			t.Error("an absent attribute has numbers")
		}
	}
}
