package parts

import (
	"maps"
	"slices"
)

// Bounds of a fragment. Numbers beyond them are counted as skipped.
const (
	MaxMeasures  = 20  // fields: the first that were added, and of one event the first by name
	MaxFieldName = 255 // bytes
)

// Rollup sums up events. The zero Rollup has no event. Its counts are negative if more events were subtracted than added.
type Rollup struct {
	Events   int64              `dynamodbav:"events"`
	Measures map[string]Measure `dynamodbav:"measures"`          // by field
	Skipped  int64              `dynamodbav:"skipped,omitempty"` // numbers of the events that are not in Measures
}

// Measure sums up the numbers of one field. Min is greater than Max if no number was added.
type Measure struct {
	N   int64   `dynamodbav:"n" json:"count"` // numbers
	Sum Decimal `dynamodbav:"sum" json:"sum"`
	Min Decimal `dynamodbav:"min" json:"min"`
	Max Decimal `dynamodbav:"max" json:"max"`
}

// Avg returns the mean, to 15 decimal places, rounded half away from zero. N must be 1 or more.
func (m Measure) Avg() Decimal { return m.Sum.quotient(m.N) }

// Same reports whether two measures are equal.
func (m Measure) Same(other Measure) bool {
	return m.N == other.N && m.Sum.Cmp(other.Sum) == 0 && m.Min.Cmp(other.Min) == 0 && m.Max.Cmp(other.Max) == 0
}

// empty reports whether all numbers were subtracted. The minimum and the maximum stay.
func (m Measure) empty() bool { return m.N == 0 && m.Sum.Cmp(Decimal{}) == 0 }

func (m Measure) merge(other Measure) Measure {
	m.N += other.N
	m.Sum = m.Sum.add(other.Sum)
	if other.Min.Cmp(m.Min) < 0 {
		m.Min = other.Min
	}
	if other.Max.Cmp(m.Max) > 0 {
		m.Max = other.Max
	}
	return m
}

// Clone returns a copy that may be changed. Its Measures are not nil.
func (p Rollup) Clone() Rollup {
	p.Measures = maps.Clone(p.Measures)
	if p.Measures == nil {
		p.Measures = map[string]Measure{}
	}
	return p
}

// Same reports whether two rollups have the same counts and measures. It ignores fields whose numbers were all subtracted.
func (p Rollup) Same(other Rollup) bool {
	return p.Events == other.Events && p.Skipped == other.Skipped && maps.EqualFunc(p.present(), other.present(), Measure.Same)
}

// present returns the fields that have numbers.
func (p Rollup) present() map[string]Measure {
	fields := maps.Clone(p.Measures)
	maps.DeleteFunc(fields, func(_ string, m Measure) bool { return m.empty() })
	return fields
}

// Add adds one event with these numbers, as DynamoDB writes them, by field.
func (p *Rollup) Add(numbers map[string]string) { p.count(numbers, 1) }

// Subtract subtracts one event with these numbers by field. Minima and maxima stay.
func (p *Rollup) Subtract(numbers map[string]string) { p.count(numbers, -1) }

// count adds an event if times is 1, and subtracts it if times is -1.
func (p *Rollup) count(numbers map[string]string, times int64) {
	p.Events += times
	for _, field := range slices.Sorted(maps.Keys(numbers)) {
		if !p.addNumber(field, numbers[field], times) {
			p.Skipped += times
		}
	}
}

// addNumber adds a number if times is 1, and subtracts it if times is -1. It returns false, and changes nothing, if the
// number, its field or the sum is out of bounds. A sum can be so only after 100 million numbers.
func (p *Rollup) addNumber(field, text string, times int64) (added bool) {
	m, known := p.Measures[field]
	value, ok := Measurable(text)
	hasRoom := known || len(p.Measures) < MaxMeasures
	if !ok || !hasRoom || field == "" || len(field) > MaxFieldName {
		return false
	}
	if !known {
		m = Measure{Min: largest, Max: largest.negated()}
	}
	if times > 0 {
		m = m.merge(Measure{N: 1, Sum: value, Min: value, Max: value})
	} else {
		m.N, m.Sum = m.N-1, m.Sum.add(value.negated())
	}
	if !m.Sum.storable() {
		return false
	}
	p.Measures[field] = m
	return true
}

// Extremes are the smallest and the largest number of each field. N and Sum of the Measures are not used.
type Extremes map[string]Measure

// Add adds the numbers of one event.
func (e Extremes) Add(numbers map[string]string) {
	for field, text := range numbers {
		value, ok := Measurable(text)
		if !ok {
			continue
		}
		m := Measure{Min: value, Max: value}
		if old, known := e[field]; known {
			m = old.merge(m)
		}
		e[field] = m
	}
}

// Narrow returns a copy of p with the extremes of the events that still exist, and reports whether it differs from p. A
// field without existing numbers keeps its extremes, but is left out of the copy if all its numbers were subtracted.
func (p Rollup) Narrow(existing Extremes) (narrowed Rollup, changed bool) {
	narrowed = p.Clone()
	for field, m := range p.Measures {
		found, exists := existing[field]
		switch {
		case exists:
			changed = changed || m.Min.Cmp(found.Min) != 0 || m.Max.Cmp(found.Max) != 0
			m.Min, m.Max = found.Min, found.Max
			narrowed.Measures[field] = m
		case m.empty():
			changed = true
			delete(narrowed.Measures, field)
		}
	}
	return narrowed, changed
}

// Merge adds another fragment, of the same bucket or another one.
func (p *Rollup) Merge(other Rollup) {
	p.Events += other.Events
	p.Skipped += other.Skipped
	if p.Measures == nil {
		p.Measures = map[string]Measure{}
	}
	for field, m := range other.Measures {
		if old, known := p.Measures[field]; known {
			m = old.merge(m)
		}
		p.Measures[field] = m
	}
}
