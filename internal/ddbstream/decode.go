package ddbstream

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Decode reads a payload. A fault of the payload as a whole, and a record that
// has no sequence number by which to report it, is an error that says what is
// wrong and where; a fault in a single record is that record's Err.
//
// The batch refers to the payload, which must not change while it is in use.
func Decode(payload []byte) (*Batch, error) {
	r := open(payload)
	defer r.close()
	d := decoder{reader: r, batch: new(Batch)}
	err := d.payload()
	if err != nil {
		return nil, fmt.Errorf("ddbstream: payload: %w", err)
	}
	return d.batch, nil
}

type decoder struct {
	*reader
	batch   *Batch
	records bool // there was a list of records
}

func (d *decoder) payload() error {
	if err := d.members(d.top); err != nil {
		return err
	}
	if err := d.end(); err != nil {
		return err
	}
	if !d.records && !d.batch.Windowed {
		return errors.New("it has no Records")
	}
	return nil
}

func (d *decoder) top(name []byte) error {
	switch string(name) {
	case "Records":
		return d.list()
	case "window":
		return d.window()
	case "state":
		return d.state()
	}
	raw, err := d.value()
	if err != nil || isNull(raw) {
		return err
	}
	b := d.batch
	switch string(name) {
	case "shardId":
		b.ShardID, err = text(raw)
	case "eventSourceARN":
		b.SourceARN, err = text(raw)
	case "isFinalInvokeForWindow":
		b.Final, err = boolean(raw)
	case "isWindowTerminatedEarly":
		b.TerminatedEarly, err = boolean(raw)
	}
	return at(string(name), err)
}

func (d *decoder) list() error {
	d.records = true
	if d.is('n') {
		_, err := d.value()
		return err
	}
	return d.elements(func() error {
		d.batch.Records = append(d.batch.Records, Record{})
		rec := &d.batch.Records[len(d.batch.Records)-1]
		if err := d.record(rec); err != nil {
			return err
		}
		if rec.Sequence == "" {
			return errors.Join(fmt.Errorf("record %d has no SequenceNumber", len(d.batch.Records)-1), rec.Err)
		}
		rec.finish()
		return nil
	})
}

func (d *decoder) window() error {
	if d.is('n') {
		_, err := d.value()
		return err
	}
	b := d.batch
	b.Windowed = true
	err := d.members(func(name []byte) error {
		raw, err := d.value()
		if err != nil {
			return err
		}
		switch string(name) {
		case "start":
			b.WindowStart, err = rfc3339(raw)
		case "end":
			b.WindowEnd, err = rfc3339(raw)
		}
		return at(string(name), err)
	})
	if err == nil && (b.WindowStart.Unix() < 0 || !b.WindowEnd.After(b.WindowStart)) {
		err = errors.New("want a start after 1970 and a later end")
	}
	return at("window", err)
}

// state keeps the raw text of a value that is not a string: whether it can be
// used is for its reader to say.
func (d *decoder) state() error {
	if d.is('n') {
		_, err := d.value()
		return err
	}
	d.batch.State = make(map[string]string)
	return at("state", d.members(func(name []byte) error {
		key := string(name)
		raw, err := d.value()
		if err != nil {
			return err
		}
		if d.batch.State[key], err = text(raw); err != nil {
			d.batch.State[key] = string(raw)
		}
		return nil
	}))
}

func text(raw []byte) (string, error) {
	if kind := kindOf(raw); kind != '"' {
		return "", fmt.Errorf("want a string, found %v", kind)
	}
	return string(unquote(raw)), nil
}

func boolean(raw []byte) (bool, error) {
	switch kind := kindOf(raw); kind {
	case 't', 'f':
		return kind == 't', nil
	default:
		return false, fmt.Errorf("want a boolean, found %v", kind)
	}
}

// rfc3339 reads a window's bound, which is kept to the millisecond.
func rfc3339(raw []byte) (time.Time, error) {
	s, err := text(raw)
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, s)
	return t.UTC().Truncate(time.Millisecond), err
}

// epoch reads Unix seconds in any notation that JSON has, 1.7E9 included. Like
// aws-lambda-go it takes the way through a float64, which keeps microseconds.
func epoch(raw []byte) (time.Time, error) {
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

// at names the member that an error is about.
func at(member string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", member, err)
}
