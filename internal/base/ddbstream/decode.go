package ddbstream

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Decode decodes a payload. It returns an error if the payload is not valid JSON, or if a record has no sequence number.
// Any other fault of a record is that record's Err.
//
// The batch refers to the payload, which must not change while the batch is in use.
func Decode(payload []byte) (*Batch, error) { return new(Decoder).Decode(payload) }

// Decoder reads payloads one after another and reuses its memory. The zero Decoder is ready to
// use. It is not safe for concurrent use.
type Decoder struct {
	scanner
	batch      Batch
	hasRecords bool // the payload has the member Records

	lastTime    []byte // text of the last creation time
	lastCreated time.Time

	learner
	begins [noImage]int // where each image of the current record begins
}

// Decode is like the function Decode, but the batch is valid only until the next call of Decode or Release.
func (d *Decoder) Decode(payload []byte) (*Batch, error) {
	d.Release()
	d.open(payload)
	if err := d.readPayload(); err != nil {
		return nil, fmt.Errorf("ddbstream: payload: %w", err)
	}
	return &d.batch, nil
}

// Release drops all references to the payload and keeps the memory.
func (d *Decoder) Release() {
	clear(d.batch.Records)
	for _, s := range d.shapes[:d.known] {
		*s = shape{holes: s.holes[:0]}
	}
	d.batch, d.hasRecords = Batch{Records: d.batch.Records[:0]}, false
	d.lastTime, d.known, d.misses, d.paused = nil, 0, 0, 0
	d.open(nil)
}

func (d *Decoder) readPayload() error {
	o := d.enterObject(d.skipSpace(0))
	for d.member(&o) {
		o.at = d.readPayloadMember(o.name, o.at)
	}
	if err := d.expectEnd(o.at); err != nil {
		return err
	}
	if !d.hasRecords && !d.batch.Windowed {
		return errors.New("it has no Records: want a batch of DynamoDB Streams")
	}
	return nil
}

// readPayloadMember reads the value of a member of the payload, and skips unknown members.
func (d *Decoder) readPayloadMember(name []byte, at int) int {
	b := &d.batch
	switch string(name) {
	case "Records":
		return d.readRecords(at)
	case "window":
		return d.readWindow(at)
	case "state":
		return d.readState(at)
	case "shardId":
		return d.readField(at, "shardId", func(raw []byte) (err error) { b.ShardID, err = parseString(raw); return err })
	case "eventSourceARN":
		return d.readField(at, "eventSourceARN", func(raw []byte) (err error) { b.SourceARN, err = parseString(raw); return err })
	case "NextShardIterator":
		return d.readField(at, "NextShardIterator", func(raw []byte) (err error) { b.Next, err = parseString(raw); return err })
	case "isFinalInvokeForWindow":
		return d.readField(at, "isFinalInvokeForWindow", func(raw []byte) (err error) { b.Final, err = parseBool(raw); return err })
	case "isWindowTerminatedEarly":
		return d.readField(at, "isWindowTerminatedEarly", func(raw []byte) (err error) { b.TerminatedEarly, err = parseBool(raw); return err })
	}
	return d.skip(at, 0)
}

// readField calls parse with the value of a payload's member, unless the value is null. An error of parse fails the payload.
func (d *Decoder) readField(at int, name string, parse func(raw []byte) error) int {
	raw, next := d.rawValue(at)
	if raw == nil {
		return next
	}
	if err := parse(raw); err != nil {
		return d.fail(at, name+": "+err.Error())
	}
	return next
}

// maxRecords is the most that Lambda delivers in a batch, from
// https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html
const maxRecords = 10_000

// readRecords reads the array of records. Null stands for an empty array.
func (d *Decoder) readRecords(at int) int {
	d.hasRecords = true
	if d.peek(at) == 'n' {
		return d.skip(at, 0)
	}
	if d.peek(at) != '[' {
		return d.unexpected(at, "[")
	}
	return d.readArray(at, d.appendRecord)
}

// appendRecord reads one record, and appends it to the batch.
func (d *Decoder) appendRecord(at int) int {
	n := len(d.batch.Records)
	d.batch.Records = slices.Grow(d.batch.Records, 1)[:n+1]
	rec := &d.batch.Records[n]
	next, ok := d.matchShape(at, rec)
	if !ok {
		next = d.readUnknownShape(at, rec)
	}
	if d.err != nil {
		return next
	}
	if len(rec.Sequence) == 0 {
		d.err = errors.Join(fmt.Errorf("record %d, at byte %d, has no SequenceNumber", n, at), rec.Err)
		return len(d.data)
	}
	rec.Raw = d.between(at, next)
	rec.finish()
	if n == 0 { // reserve memory for the rest, if all have this length
		d.batch.Records = slices.Grow(d.batch.Records, min((len(d.data)-at)/(next-at), maxRecords))
	}
	return next
}

// readUnknownShape reads a record that matches no shape, and learns its shape unless learning pauses.
func (d *Decoder) readUnknownShape(at int, rec *Record) int {
	d.learning, d.image, d.holes = d.paused == 0, noImage, d.holes[:0]
	next := d.readRecord(at, rec)
	if d.learning && d.err == nil {
		d.learn(at, next, rec)
	}
	d.learning = false
	return next
}

// skipNull skips a null, which means an absent object. Any other value is an error.
func (d *Decoder) skipNull(at int, name string) int {
	if d.peek(at) != 'n' {
		return d.unexpected(at, name+": {")
	}
	return d.skip(at, 0)
}

// readWindow reads the tumbling window's bounds.
func (d *Decoder) readWindow(at int) int {
	if d.peek(at) != '{' {
		return d.skipNull(at, "window")
	}
	b := &d.batch
	b.Windowed = true
	o := d.enterObject(at)
	for d.member(&o) {
		switch string(o.name) {
		case "start":
			o.at = d.readField(o.at, "window: start", func(raw []byte) (err error) { b.WindowStart, err = parseWindowBound(raw); return err })
		case "end":
			o.at = d.readField(o.at, "window: end", func(raw []byte) (err error) { b.WindowEnd, err = parseWindowBound(raw); return err })
		default:
			o.at = d.skip(o.at, 0)
		}
	}
	if b.WindowStart.Unix() < 0 || !b.WindowEnd.After(b.WindowStart) {
		return d.fail(at, "window: want a start after 1970 and a later end")
	}
	return o.at
}

// readState reads the window's state. It keeps a value that is not a string as raw JSON, which the batch's user may reject.
func (d *Decoder) readState(at int) int {
	if d.peek(at) != '{' {
		return d.skipNull(at, "state")
	}
	d.batch.State = make(map[string]string)
	o := d.enterObject(at)
	for d.member(&o) {
		name, next := string(o.name), d.skip(o.at, 0)
		if raw := d.between(o.at, next); raw != nil {
			if text, err := stringContent(raw); err == nil {
				raw = text
			}
			d.batch.State[name] = string(raw)
		}
		o.at = next
	}
	return o.at
}

// stringContent returns the decoded text of a JSON string, which may be a part of raw. It returns an error for any other
// value.
func stringContent(raw []byte) ([]byte, error) {
	if kind := kindOf(raw); kind != '"' {
		return nil, fmt.Errorf("want a string, found %v", kind)
	}
	return unquote(raw), nil
}

func parseString(raw []byte) (string, error) {
	b, err := stringContent(raw)
	return string(b), err
}

func parseBool(raw []byte) (bool, error) {
	switch kind := kindOf(raw); kind {
	case 't', 'f':
		return kind == 't', nil
	default:
		return false, fmt.Errorf("want a boolean, found %v", kind)
	}
}

// parseWindowBound reads a window's bound, truncated to milliseconds.
func parseWindowBound(raw []byte) (time.Time, error) {
	s, err := parseString(raw)
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, s)
	return t.UTC().Truncate(time.Millisecond), err
}

// parseUnixSeconds reads Unix seconds in any JSON notation, such as 1.7E9. Like aws-lambda-go it parses a
// float64, which keeps microseconds.
func parseUnixSeconds(raw []byte) (time.Time, error) {
	if kind := kindOf(raw); kind != '0' {
		return time.Time{}, fmt.Errorf("want a number, found %v", kind)
	}
	const year10000 = 253402300800
	seconds, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || seconds < 0 || seconds >= year10000 {
		return time.Time{}, fmt.Errorf("%.40s is not a time in Unix seconds", raw)
	}
	whole := int64(seconds)
	return time.Unix(whole, int64((seconds-float64(whole))*1e9)).UTC(), nil
}
