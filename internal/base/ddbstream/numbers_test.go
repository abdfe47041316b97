package ddbstream_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestNumbers checks which attributes are maps whose numbers are read; other members are left out.
func TestNumbers(t *testing.T) {
	for attribute, want := range map[string]map[string]string{
		`{"M":{"0":{"N":"12"},"17":{"N":"3"},"x":{"S":"3"},"y":{"M":{"1":{"N":"1"}}}}}`: {"0": "12", "17": "3"},
		`{"M":{}}`: {}, `{"N":"1"}`: nil, `{"L":[{"N":"1"}]}`: nil, `{"S":"M"}`: nil, `{"M":[]}`: nil, `{"M":{"a":1}}`: nil,
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
