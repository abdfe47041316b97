package ddbstream

import "time"

// shape is what records of one kind have in common. Nearly all text of a batch comes
// again in each record: names, types, and the values that never change. So a record
// is first compared with one that was read before: where the text between the values
// that differ, the holes, is the same, and the same method as before finds a value in
// each hole, the record has the same form, and needs no further look. With any
// difference, also in white space or order, it is read as if there were no shapes.
type shape struct {
	text   []byte // of the record that it was learned from
	holes  []hole
	record Record // that one, without what was in holes
	frames [3]frame
}

// hole is the place of a value in a shape's text.
type hole struct {
	start, end int
	kind       byte // a letter of typeOf, or one of those below
	image      byte // the one that it is in, or noImage
	first      bool // of its image
}

// What is in a hole outside of images.
const (
	anyHole      = 'a' // what nobody asks for
	timeHole     = 't'
	sequenceHole = 'q'
)

// The images of a record.
const (
	keysImage = iota
	newImage
	oldImage
	noImage
)

// frame is an image around its holes.
type frame struct {
	lead  int // bytes before the first hole
	trail int // bytes behind the last one
	end   int // where the image ended
	size  int // of the item without the values in holes
}

// Bounds of what is learned. When so many records in a row were like none of the
// shapes, the next ones are read without.
const (
	maxShapes = 4
	maxHoles  = 200
	maxMisses = 10
	pause     = 1000
)

// learner keeps the shapes of a payload.
type learner struct {
	shapes [maxShapes]*shape // the one used last is the first
	known  int               // of them
	misses int               // in a row
	paused int               // for how many records more
}

// note marks a value that was read as one that may differ in the next record.
func (s *scanner) note(kind byte, start, end int) {
	if s.learning && len(s.holes) < maxHoles {
		s.holes = append(s.holes, hole{start: start, end: end, kind: kind, image: s.reading})
	}
}

// like reads a record that is like one before. For any other, ok is false.
func (d *Decoder) like(at int, rec *Record) (next int, ok bool) {
	if d.paused > 0 {
		d.paused--
		return 0, false
	}
	for i := range d.known {
		if next, ok = d.fill(d.shapes[i], at, rec); ok {
			d.shapes[0], d.shapes[i] = d.shapes[i], d.shapes[0]
			d.misses = 0
			return next, true
		}
	}
	if d.misses++; d.misses > maxMisses {
		d.misses, d.paused = 0, pause
	}
	return 0, false
}

// fill reads a record that is of a shape.
func (d *Decoder) fill(s *shape, at int, rec *Record) (next int, ok bool) {
	*rec, d.flaw = s.record, nil
	images := [...]*Image{&rec.Keys, &rec.New, &rec.Old}
	var starts, ends [noImage]int
	past := 0
	for i := range s.holes {
		h := &s.holes[i]
		at = d.same(at, s.text[past:h.start])
		past = h.end
		c := d.peek(at)
		if c <= ' ' || c != '"' && h.image != noImage { // what is there may be right, but is no such value
			return 0, false
		}
		if h.image == noImage {
			at = d.fillOne(h.kind, at, rec)
			continue
		}
		if h.first {
			starts[h.image], d.size = at-s.frames[h.image].lead, s.frames[h.image].size
		}
		at = d.scanner.value(h.kind, at, 0)
		images[h.image].size, ends[h.image] = d.size, at+s.frames[h.image].trail
	}
	if at = d.same(at, s.text[past:]); at > len(d.data) || d.err != nil || d.flaw != nil || rec.Err != nil {
		return 0, false
	}
	for i, image := range images {
		if image.raw != nil {
			image.raw = d.data[starts[i]:ends[i]:ends[i]]
		}
	}
	return at, true
}

// same passes over this text. Without it the place is beyond the end of the data.
func (s *scanner) same(at int, text []byte) int {
	if end := at + len(text); end <= len(s.data) && string(s.data[at:end]) == string(text) {
		return end
	}
	return len(s.data) + 1
}

// fillOne reads a value outside of images.
func (d *Decoder) fillOne(kind byte, at int, rec *Record) int {
	switch kind {
	case timeHole:
		return d.created(at, rec)
	case sequenceHole:
		return d.sequence(at, rec)
	default:
		return d.skip(at, 0)
	}
}

// learn makes a shape of the record between two places, if it can be one: nothing is
// wrong with it, and each of its images has a hole.
func (d *Decoder) learn(at, next int, rec *Record) {
	d.learning = false
	images := [...]*Image{&rec.Keys, &rec.New, &rec.Old}
	var holed [noImage + 1]bool
	for _, h := range d.holes {
		holed[h.image] = true
	}
	for i, image := range images {
		if image.size == flawed || image.Present() != holed[i] {
			return
		}
	}
	if rec.Err != nil || len(d.holes) == maxHoles {
		return
	}
	s := d.room()
	s.text, s.holes, s.record = d.data[at:next], append(s.holes[:0], d.holes...), *rec
	s.record.Created, s.record.Sequence = time.Time{}, nil
	for i, image := range images {
		s.frames[i] = frame{lead: -1, end: d.begins[i] + len(image.raw), size: image.size}
	}
	for i := range s.holes {
		h := &s.holes[i]
		if h.image != noImage {
			d.size = 0
			d.scanner.value(h.kind, h.start, 0)
			f := &s.frames[h.image]
			if h.first = f.lead < 0; h.first {
				f.lead = h.start - d.begins[h.image]
			}
			f.size -= d.size
			f.trail = f.end - h.end
		}
		h.start, h.end = h.start-at, h.end-at
	}
}

// room is a shape to overwrite: a new one, or not the one used last.
func (d *Decoder) room() *shape {
	if d.known < maxShapes {
		if d.shapes[d.known] == nil {
			d.shapes[d.known] = new(shape)
		}
		d.known++
	}
	last := d.known - 1
	d.shapes[0], d.shapes[last] = d.shapes[last], d.shapes[0]
	return d.shapes[0]
}
