package main

import (
	"testing"

	"github.com/hotshard/hotshard/internal/ddbstream"
)

func benchDecode(b *testing.B, i int) {
	c := cases()[i]
	c.records = 200
	payload, _ := c.payload()
	var d ddbstream.Decoder
	for b.Loop() { d.Decode(payload) }
}
func BenchmarkKeys(b *testing.B) { benchDecode(b, 0) }
func BenchmarkBoth(b *testing.B) { benchDecode(b, 3) }
