package ddbstream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

// TestVectors restates Parity Suite's cases: an item of 1,024 charged bytes costs a unit and one byte more costs two,
// whatever numbers its vector has.
func TestVectors(t *testing.T) {
	for _, dimensions := range []int{3, 6, 1024} {
		for _, number := range []string{"0", "1", "1E-30", "12345678901234567890123456789012345678"} {
			list := strings.Repeat(`{"N":"`+number+`"},`, dimensions)
			vectors := []ddbstream.Vector{{Attribute: "embedding", Dimensions: dimensions}, {Attribute: "absent", Dimensions: 9}}
			least := len("pkp"+"embedding"+"pad") + 4*dimensions // with an empty pad
			blocks := least/1024 + 1
			for extra, want := range []int{blocks, blocks + 1} {
				item := fmt.Sprintf(`{"pk":{"S":"p"},"embedding":{"L":[%s]},"pad":{"S":"%s"}}`, strings.TrimSuffix(list, ","), strings.Repeat("x", 1024*blocks-least+extra))
				inserted, removed := change(t, "", item, ""), change(t, item, "", "")
				for _, rec := range []*ddbstream.Record{&inserted, &removed} {
					if units, err := rec.WriteUnits(vectors...); units != want || err != nil {
						t.Errorf("%d dimensions of %s, %d B: %d units, %v, want %d", dimensions, number, 1024*blocks+extra, units, err, want)
					}
				}
			}
		}
	}
	text := change(t, "", `{"pk":{"S":"p"},"embedding":{"S":"`+strings.Repeat("x", 2000)+`"}}`, "")
	if units, err := text.WriteUnits(ddbstream.Vector{Attribute: "embedding", Dimensions: 1024}); units != 2 || err != nil {
		t.Errorf("a string that is no vector: %d units, %v", units, err)
	}
}
