package parts

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// The packed form of a histogram:
//
//	version  1 byte, 1
//	level    1 byte
//	zeros    1 byte: number of low bits that are 0 in all cells, and left out. Whole
//	         numbers have many.
//	late     varint: how many entries have an outdated row in the index
//	count    uvarint
//	cells    the lowest first: the distance from the cell before as uvarint, and the
//	         number of entries as varint
const (
	cellsVersion   = 1
	maxParsedCells = 1 << 15 // most cells that can be read; at most MaxCells are written
	maxLevel       = 64
)

// Bytes returns the packed form.
func (h Histogram) Bytes() []byte {
	usedBits := uint64(1) << (maxLevel - 1) // bits that are set in any cell, and the highest, so that zeros is below 64
	for cell := range h.cells {
		usedBits |= cell
	}
	zeros := bits.TrailingZeros64(usedBits)
	b := binary.AppendVarint([]byte{cellsVersion, byte(h.level), byte(zeros)}, h.late)
	b = binary.AppendUvarint(b, uint64(len(h.cells)))
	last := uint64(0)
	for _, cell := range slices.Sorted(maps.Keys(h.cells)) {
		b = binary.AppendUvarint(b, (cell-last)>>zeros)
		b = binary.AppendVarint(b, h.cells[cell])
		last = cell
	}
	return b
}

// parseHistogram parses the packed form, or returns an error that names the damage.
func parseHistogram(data []byte) (Histogram, error) {
	r := &reader{schema.Unpacker{Left: data}}
	if v := r.Byte(); r.Err == nil && v != cellsVersion {
		return Histogram{}, fmt.Errorf("a histogram has version %d, and this release reads only %d: run the release that wrote it, or a newer one", v, cellsVersion)
	}
	h := Histogram{level: uint(r.Byte())}
	zeros := uint(r.Byte())
	if h.level > maxLevel || zeros >= maxLevel {
		r.Fail("its level or its zeros are out of range")
	}
	h.late = r.Int()
	r.readCells(&h, zeros)
	if len(r.Left) > 0 {
		r.Fail("there are bytes after its end")
	}
	if r.Err != nil {
		return Histogram{}, fmt.Errorf("a histogram: %w", r.Err)
	}
	return h, nil
}

// readCells reads the cells of a histogram, without their low zero bits. The cells must be in order, and not above the
// highest cell of its level.
func (r *reader) readCells(h *Histogram, zeros uint) {
	highest := uint64(math.MaxUint64) >> h.level >> zeros
	cell := uint64(0)
	for i := range r.readCount(maxParsedCells) {
		distance, count := r.Uint(), r.Int()
		isRepeated := i > 0 && distance == 0
		if isRepeated || distance > highest-cell {
			r.Fail("its cells are not in order")
			return
		}
		cell += distance
		h.addToCell(cell<<zeros, count)
	}
}
