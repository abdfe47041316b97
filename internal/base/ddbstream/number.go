package ddbstream

import "github.com/hotshard/hotshard/internal/base/decimal"

// numberSize returns a number's size in an item, in bytes. ok is false if text is not a number.
func numberSize(text []byte) (size int, ok bool) {
	n, ok := decimal.Parse(text)
	return n.Size(), ok
}
