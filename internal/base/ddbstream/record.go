package ddbstream

import (
	"bytes"
	"errors"
	"fmt"
)

// readRecord reads one record. A fault of the record itself is stored in rec.Err.
func (d *Decoder) readRecord(at int, rec *Record) int {
	*rec = Record{}
	var by identity
	o := d.enterObject(at)
	for d.member(&o) {
		switch string(o.name) {
		case "dynamodb":
			o.at = d.readChange(o.at, rec)
		case "eventName":
			o.at = d.readEventName(o.at, rec)
		case "eventSourceARN":
			o.at = d.readSourceARN(o.at, rec)
		case "userIdentity":
			o.at = d.readIdentity(o.at, rec, &by)
		case "eventID":
			o.at = d.skipHole(o.at)
		default:
			o.at = d.skip(o.at, 0)
		}
	}
	rec.Expired = rec.Name == Remove && by == ttlService
	return o.at
}

// isObject reports whether a member's value is an object. Null stands for an absent member. Any other value is a fault of
// the record.
func (d *Decoder) isObject(at int, rec *Record, member string) bool {
	switch d.peek(at) {
	case '{', 0: // at the end of the data the caller's enterObject fails
		return true
	case 'n':
		return false
	}
	rec.fault(member, fmt.Errorf("want an object, found %v", kindOf(d.data[at:])))
	return false
}

// readChange reads the member "dynamodb".
func (d *Decoder) readChange(at int, rec *Record) int {
	if !d.isObject(at, rec, "dynamodb") {
		return d.skip(at, 0)
	}
	o := d.enterObject(at)
	for d.member(&o) {
		switch string(o.name) {
		case "ApproximateCreationDateTime":
			o.at = d.readCreated(o.at, rec)
		case "SequenceNumber":
			o.at = d.readSequence(o.at, rec)
		case "Keys":
			o.at = d.readImageMember(o.at, rec, "Keys", keysImage, &rec.Keys)
		case "NewImage":
			o.at = d.readImageMember(o.at, rec, "NewImage", newImage, &rec.New)
		case "OldImage":
			o.at = d.readImageMember(o.at, rec, "OldImage", oldImage, &rec.Old)
		case "SizeBytes":
			o.at = d.skipHole(o.at)
		default:
			o.at = d.skip(o.at, 0)
		}
	}
	return o.at
}

// readImageMember reads an image. number is keysImage, newImage or oldImage.
func (d *Decoder) readImageMember(at int, rec *Record, member string, number byte, to *Image) int {
	if !d.isObject(at, rec, member) {
		return d.skip(at, 0)
	}
	if to.Present() {
		rec.fault(member, errors.New("the record has it twice"))
	}
	d.image, d.begins[number] = number, at
	*to, at = d.readImage(at)
	d.image = noImage
	return at
}

// skipHole skips a value that is not used, but differs between records: it is a hole of their shape.
func (d *Decoder) skipHole(at int) int {
	next := d.skip(at, 0)
	d.addHole(anyHole, at, next)
	return next
}

// rawValue returns the JSON text of a value and the position after it. The text is nil for null and after an error.
func (d *Decoder) rawValue(at int) (raw []byte, next int) {
	next = d.skip(at, 0)
	if raw = d.between(at, next); raw == nil || raw[0] == 'n' {
		return nil, next
	}
	return raw, next
}

func (d *Decoder) readEventName(at int, rec *Record) int {
	raw, next := d.rawValue(at)
	if raw == nil {
		return next
	}
	name, err := stringContent(raw)
	if err == nil {
		rec.Name, err = nameOf(name)
	}
	rec.fault("eventName", err)
	return next
}

// nameOf returns the name of an eventName, or an error if it is unknown.
func nameOf(text []byte) (Name, error) {
	for name := Insert; name <= Remove; name++ {
		if string(text) == name.String() {
			return name, nil
		}
	}
	return 0, fmt.Errorf("unknown name %.40q: want INSERT, MODIFY or REMOVE", text)
}

// readSourceARN stores the first record's ARN in the batch. All records have the same ARN.
func (d *Decoder) readSourceARN(at int, rec *Record) int {
	raw, next := d.rawValue(at)
	if raw == nil || d.batch.SourceARN != "" {
		return next
	}
	arn, err := stringContent(raw)
	d.batch.SourceARN = string(arn)
	rec.fault("eventSourceARN", err)
	return next
}

func (d *Decoder) readSequence(at int, rec *Record) int {
	raw, next := d.rawValue(at)
	if raw != nil {
		var err error
		rec.Sequence, err = stringContent(raw)
		rec.fault("SequenceNumber", err)
	}
	d.addHole(sequenceHole, at, next)
	return next
}

// readCreated reads the time of the change. Most records have the same text as the one before.
func (d *Decoder) readCreated(at int, rec *Record) int {
	raw, next := d.rawValue(at)
	if raw == nil {
		return next
	}
	if !bytes.Equal(raw, d.lastTime) {
		t, err := parseUnixSeconds(raw)
		if err != nil {
			rec.fault("ApproximateCreationDateTime", err)
			return next
		}
		d.lastTime, d.lastCreated = raw, t
	}
	rec.Created = d.lastCreated
	d.addHole(timeHole, at, next)
	return next
}

// identity is the userIdentity of a change that a service made.
type identity struct{ kind, principal string }

var ttlService = identity{"Service", "dynamodb.amazonaws.com"}

// readIdentity reads the member "userIdentity".
func (d *Decoder) readIdentity(at int, rec *Record, by *identity) int {
	if !d.isObject(at, rec, "userIdentity") {
		return d.skip(at, 0)
	}
	o := d.enterObject(at)
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
			name, err := stringContent(raw)
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

// finish sets the record's fault if its name or its keys are missing, and adds the sequence number to any fault.
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
