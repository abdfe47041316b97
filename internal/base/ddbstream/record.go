package ddbstream

import (
	"bytes"
	"errors"
	"fmt"
)

// record reads one record. A fault of the record itself is stored in rec.Err.
func (d *Decoder) record(at int, rec *Record) int {
	*rec = Record{}
	var by identity
	o := d.enter(at)
	for d.member(&o) {
		switch string(o.name) {
		case "dynamodb":
			o.at = d.change(o.at, rec)
		case "eventName":
			o.at = d.eventName(o.at, rec)
		case "eventSourceARN":
			o.at = d.sourceARN(o.at, rec)
		case "userIdentity":
			o.at = d.identity(o.at, rec, &by)
		case "eventID":
			o.at = d.ignored(o.at)
		default:
			o.at = d.skip(o.at, 0)
		}
	}
	rec.Expired = rec.Name == Remove && by == ttlService
	return o.at
}

// isObject reports whether a value is an object. Null means that it is absent; any other value is a fault
// of the record.
func (d *Decoder) isObject(at int, rec *Record, member string) bool {
	switch d.peek(at) {
	case '{', 0: // at the end of the data the caller's enter fails
		return true
	case 'n':
		return false
	}
	rec.fault(member, fmt.Errorf("want an object, found %v", kindOf(d.data[at:])))
	return false
}

// change reads the member "dynamodb".
func (d *Decoder) change(at int, rec *Record) int {
	if !d.isObject(at, rec, "dynamodb") {
		return d.skip(at, 0)
	}
	o := d.enter(at)
	for d.member(&o) {
		switch string(o.name) {
		case "ApproximateCreationDateTime":
			o.at = d.created(o.at, rec)
		case "SequenceNumber":
			o.at = d.sequence(o.at, rec)
		case "Keys":
			o.at = d.imageOf(o.at, rec, "Keys", keysImage, &rec.Keys)
		case "NewImage":
			o.at = d.imageOf(o.at, rec, "NewImage", newImage, &rec.New)
		case "OldImage":
			o.at = d.imageOf(o.at, rec, "OldImage", oldImage, &rec.Old)
		case "SizeBytes":
			o.at = d.ignored(o.at)
		default:
			o.at = d.skip(o.at, 0)
		}
	}
	return o.at
}

func (d *Decoder) imageOf(at int, rec *Record, member string, image byte, to *Image) int {
	if !d.isObject(at, rec, member) {
		return d.skip(at, 0)
	}
	if to.Present() {
		rec.fault(member, errors.New("it is there twice"))
	}
	d.reading, d.begins[image] = image, at
	*to, at = d.image(at)
	d.reading = noImage
	return at
}

// ignored skips a value that is not used and differs between records.
func (d *Decoder) ignored(at int) int {
	next := d.skip(at, 0)
	d.addHole(anyHole, at, next)
	return next
}

// rawValue returns the text of a value, or nil for null and after an error.
func (d *Decoder) rawValue(at int) (raw []byte, next int) {
	next = d.skip(at, 0)
	if raw = d.between(at, next); raw == nil || isNull(raw) {
		return nil, next
	}
	return raw, next
}

func (d *Decoder) eventName(at int, rec *Record) int {
	raw, next := d.rawValue(at)
	if raw == nil {
		return next
	}
	name, err := text(raw)
	if err == nil {
		rec.Name, err = nameOf(name)
	}
	rec.fault("eventName", err)
	return next
}

func nameOf(text []byte) (Name, error) {
	switch string(text) {
	case "INSERT":
		return Insert, nil
	case "MODIFY":
		return Modify, nil
	case "REMOVE":
		return Remove, nil
	}
	return 0, fmt.Errorf("unknown name %.40q", text)
}

// sourceARN keeps the first record's ARN; all records have the same.
func (d *Decoder) sourceARN(at int, rec *Record) int {
	raw, next := d.rawValue(at)
	if raw == nil || d.batch.SourceARN != "" {
		return next
	}
	arn, err := text(raw)
	d.batch.SourceARN = string(arn)
	rec.fault("eventSourceARN", err)
	return next
}

func (d *Decoder) sequence(at int, rec *Record) int {
	raw, next := d.rawValue(at)
	if raw != nil {
		var err error
		rec.Sequence, err = text(raw)
		rec.fault("SequenceNumber", err)
	}
	d.addHole(sequenceHole, at, next)
	return next
}

// created reads the time of the change. Most records have the same text as the one before.
func (d *Decoder) created(at int, rec *Record) int {
	raw, next := d.rawValue(at)
	if raw == nil {
		return next
	}
	if !bytes.Equal(raw, d.lastTime) {
		t, err := epoch(raw)
		if err != nil {
			rec.fault("ApproximateCreationDateTime", err)
			return next
		}
		d.lastTime, d.last = raw, t
	}
	rec.Created = d.last
	d.addHole(timeHole, at, next)
	return next
}

// identity is the userIdentity of a change that a service made.
type identity struct{ kind, principal string }

var ttlService = identity{"Service", "dynamodb.amazonaws.com"}

func (d *Decoder) identity(at int, rec *Record, by *identity) int {
	if !d.isObject(at, rec, "userIdentity") {
		return d.skip(at, 0)
	}
	o := d.enter(at)
	for d.member(&o) {
		var to *string
		switch string(o.name) {
		case "type", "Type": // Lambda's spelling, and that of GetRecords
			to = &by.kind
		case "principalId", "PrincipalId":
			to = &by.principal
		}
		raw, next := d.rawValue(o.at)
		o.at = next
		if raw != nil && to != nil {
			name, err := text(raw)
			*to = string(name)
			rec.fault("userIdentity: "+string(o.name), err)
		}
	}
	return o.at
}

// fault stores the first fault of a record.
func (r *Record) fault(member string, err error) {
	if r.Err == nil && err != nil {
		r.Err = fmt.Errorf("%s: %w", member, err)
	}
}

// finish checks that nothing is missing, and adds the sequence number to the fault.
func (r *Record) finish() {
	if r.Name == 0 {
		r.fault("eventName", errMissing)
	}
	if !r.Keys.Present() {
		r.fault("Keys", errMissing)
	}
	if r.Err != nil {
		r.Err = recordError(r.Sequence, r.Err)
	}
}

var errMissing = errors.New("missing")

func recordError(sequence []byte, err error) error {
	return fmt.Errorf("ddbstream: record %.60s: %w", sequence, err)
}
