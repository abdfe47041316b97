package ddbstream

import "time"

// shape is the text that similar records of a batch have in common. Names, types and constant
// values repeat in each record. Holes are the values that differ. A record has a known shape if
// the text between the holes is the same and each hole has a valid value. It then needs no
// further parsing. Any other difference, even white space, makes it a new record.
type shape struct {
	text   []byte // of the learned record
	holes  []hole
	record Record         // the learned record, without the values in holes
	frames [noImage]frame // of each image
}

// hole is the position of a value in a shape's text.
type hole struct {
	start, end int
	kind       byte // in an image S, N or B; outside of images a constant below
	image      byte // the image around it, or noImage
	first      bool // the first hole of its image
}

// Kinds of holes outside of images.
const (
	anyHole      = 'a' // a value that is not used
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

// frame is the text of an image around its holes.
type frame struct {
	lead  int // bytes before the first hole
	trail int // bytes after the last hole
	end   int // position after the image, in the payload of the learned record
	size  int // size in bytes of the item without the values in holes
}

// Bounds of learning. After maxMisses consecutive records without a known shape, the next pause
// records are read without shapes.
const (
	maxShapes = 4
	maxHoles  = 200
	maxMisses = 10
	pause     = 1000
)

// learner caches the shapes of a payload.
type learner struct {
	shapes [maxShapes]*shape // the most recently used is the first
	known  int               // number of shapes
	misses int               // consecutive
	paused int               // number of records to read without shapes
}

// addHole marks a value that may differ in the next record as a hole, while a shape is learned.
func (s *scanner) addHole(kind byte, start, end int) {
	if s.learning && len(s.holes) < maxHoles {
		s.holes = append(s.holes, hole{start: start, end: end, kind: kind, image: s.image})
	}
}

// matchShape reads a record that has a known shape. ok is false for any other record.
func (d *Decoder) matchShape(at int, rec *Record) (next int, ok bool) {
	if d.paused > 0 {
		d.paused--
		return 0, false
	}
	for i := range d.known {
		if next, ok = d.fillShape(d.shapes[i], at, rec); ok {
			d.shapes[0], d.shapes[i] = d.shapes[i], d.shapes[0]
			d.misses = 0
			return next, true
		}
	}
	d.misses++
	if d.misses > maxMisses {
		d.misses, d.paused = 0, pause
	}
	return 0, false
}

// fillShape reads the record at a position, and returns the position after it. ok is false if the record does not have this
// shape.
func (d *Decoder) fillShape(s *shape, at int, rec *Record) (next int, ok bool) {
	*rec, d.flaw = s.record, nil
	images := [...]*Image{&rec.Keys, &rec.New, &rec.Old}
	var starts, ends [noImage]int // of the images, in the payload
	past := 0                     // end of the last hole, in the shape's text
	for i := range s.holes {
		h := &s.holes[i]
		at = d.skipText(at, s.text[past:h.start])
		past = h.end
		if c := d.peek(at); c <= ' ' || h.image != noImage && c != '"' { // perhaps a valid value, but not of the hole's kind
			return 0, false
		}
		if h.image == noImage {
			at = d.readHole(h.kind, at, rec)
			continue
		}
		if h.first {
			starts[h.image], d.size = at-s.frames[h.image].lead, s.frames[h.image].size
		}
		at = d.scanner.readValue(h.kind, at, 0)
		images[h.image].size, ends[h.image] = d.size, at+s.frames[h.image].trail
	}
	if at = d.skipText(at, s.text[past:]); at > len(d.data) || d.err != nil || d.flaw != nil || rec.Err != nil {
		return 0, false
	}
	for i, image := range images {
		if image.raw != nil {
			image.raw = d.data[starts[i]:ends[i]:ends[i]]
		}
	}
	return at, true
}

// skipText skips this text. If other text is there, it returns a position past the end of the data.
func (s *scanner) skipText(at int, text []byte) int {
	if end := at + len(text); end <= len(s.data) && string(s.data[at:end]) == string(text) {
		return end
	}
	return len(s.data) + 1
}

// readHole reads a value outside of images.
func (d *Decoder) readHole(kind byte, at int, rec *Record) int {
	switch kind {
	case timeHole:
		return d.readCreated(at, rec)
	case sequenceHole:
		return d.readSequence(at, rec)
	default:
		return d.skip(at, 0)
	}
}

// learn makes a shape of the record between two positions. It makes none if the record has a fault
// or too many holes, or if an image that is present has no hole.
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
	s := d.nextShape()
	s.text, s.holes, s.record = d.data[at:next], append(s.holes[:0], d.holes...), *rec
	s.record.Created, s.record.Sequence = time.Time{}, nil
	for i, image := range images {
		s.frames[i] = frame{lead: -1, end: d.begins[i] + len(image.raw), size: image.size}
	}
	for i := range s.holes {
		h := &s.holes[i]
		if h.image != noImage {
			d.size = 0 // readValue adds the hole's size, which the frame's size leaves out
			d.scanner.readValue(h.kind, h.start, 0)
			f := &s.frames[h.image]
			h.first = f.lead < 0
			if h.first {
				f.lead = h.start - d.begins[h.image]
			}
			f.size -= d.size
			f.trail = f.end - h.end
		}
		h.start, h.end = h.start-at, h.end-at
	}
}

// nextShape returns a shape to overwrite: an unused one, or the last if there are maxShapes. It exchanges it with the first.
func (d *Decoder) nextShape() *shape {
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
