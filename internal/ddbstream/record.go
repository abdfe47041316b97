package ddbstream

import (
	"errors"
	"fmt"
)

// record reads one record. It returns faults of syntax only, and leaves those of
// the record itself in rec.Err.
func (d *decoder) record(rec *Record) error {
	var ttl identity
	err := d.members(func(name []byte) error {
		switch string(name) {
		case "dynamodb":
			return d.object(rec, "dynamodb", func(name []byte) error { return d.change(rec, name) })
		case "userIdentity":
			return d.object(rec, "userIdentity", func(name []byte) error { return d.identity(rec, &ttl, name) })
		}
		raw, err := d.value()
		if err != nil || isNull(raw) {
			return err
		}
		switch string(name) {
		case "eventName":
			rec.Name, err = eventName(raw)
		case "eventSourceARN":
			if d.batch.SourceARN == "" {
				d.batch.SourceARN, err = text(raw)
			}
		}
		if err != nil {
			rec.fault(string(name), err)
		}
		return nil
	})
	rec.Expired = rec.Name == Remove && ttl == ttlService
	return err
}

// object reads an object's members, or passes over a value that is none.
func (d *decoder) object(rec *Record, member string, fn func(name []byte) error) error {
	if d.is('{') {
		return d.members(fn)
	}
	raw, err := d.value()
	if err == nil && !isNull(raw) {
		rec.fault(member, fmt.Errorf("want an object, found %v", kindOf(raw)))
	}
	return err
}

func (d *decoder) change(rec *Record, name []byte) error {
	raw, err := d.value()
	if err != nil || isNull(raw) {
		return err
	}
	switch string(name) {
	case "ApproximateCreationDateTime":
		rec.Created, err = epoch(raw)
	case "SequenceNumber":
		rec.Sequence, err = text(raw)
	case "Keys":
		rec.Keys, err = newImage(raw)
	case "NewImage":
		rec.New, err = newImage(raw)
	case "OldImage":
		rec.Old, err = newImage(raw)
	}
	if err != nil {
		rec.fault(string(name), err)
	}
	return nil
}

// identity is who made a change, where that was not a caller.
type identity struct{ kind, principal string }

var ttlService = identity{"Service", "dynamodb.amazonaws.com"}

func (d *decoder) identity(rec *Record, id *identity, name []byte) error {
	raw, err := d.value()
	if err != nil || isNull(raw) {
		return err
	}
	switch string(name) {
	case "type":
		id.kind, err = text(raw)
	case "principalId":
		id.principal, err = text(raw)
	}
	if err != nil {
		rec.fault("userIdentity: "+string(name), err)
	}
	return nil
}

func eventName(raw []byte) (Name, error) {
	s, err := text(raw)
	if err != nil {
		return 0, err
	}
	name, ok := names[s]
	if !ok {
		return 0, fmt.Errorf("unknown name %.40q", s)
	}
	return name, nil
}

// fault keeps the first fault of a record.
func (r *Record) fault(member string, err error) {
	if r.Err == nil {
		r.Err = at(member, err)
	}
}

// finish looks for what is missing, and names the record in its fault.
func (r *Record) finish() {
	if r.Name == 0 {
		r.fault("eventName", errors.New("missing"))
	}
	if !r.Keys.Present() {
		r.fault("Keys", errors.New("missing"))
	}
	if r.Err != nil {
		r.Err = recordError(r.Sequence, r.Err)
	}
}

func recordError(sequence string, err error) error {
	return fmt.Errorf("ddbstream: record %.60s: %w", sequence, err)
}
