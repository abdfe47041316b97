// Package measures has the fragments of event rollups, one for each stream shard: the arithmetic,
// which is exact, and the stored form. It does no input or output.
//
// A folder adds the events of a batch to a copy of the stored fragment:
//
//	next := known.Clone()
//	next.Add(map[string]string{"temperature": "21.5"})
//	put(next.Attributes())
//
// A reader merges the fragments of all stream shards:
//
//	part, err := measures.Parse(attributes)
//	sum.Merge(part)
package measures

import (
	"maps"
	"slices"
)

// Bounds of a fragment. Numbers beyond them are counted as skipped.
const (
	MaxMeasures  = 20  // fields: the first to be added; those of one event in the order of their names
	MaxFieldName = 255 // bytes
)

// Part sums up events. The zero Part has no event.
type Part struct {
	Events   int64              `dynamodbav:"events"`
	Measures map[string]Measure `dynamodbav:"measures"`           // by field
	Skipped  int64              `dynamodbav:"skipped,omitempty"`  // numbers of the events that are not in Measures
	Restated bool               `dynamodbav:"restated,omitempty"` // an event was redelivered with other data, which is not in here
}

// Measure sums up the numbers of one field.
type Measure struct {
	N   int64   `dynamodbav:"n" json:"count"` // numbers; at least 1
	Sum Decimal `dynamodbav:"sum" json:"sum"`
	Min Decimal `dynamodbav:"min" json:"min"`
	Max Decimal `dynamodbav:"max" json:"max"`
}

// Avg returns the mean, to 15 decimal places, rounded half away from zero.
func (m Measure) Avg() Decimal { return m.Sum.over(m.N) }

// Same reports whether two measures are equal.
func (m Measure) Same(other Measure) bool {
	return m.N == other.N && m.Sum.Cmp(other.Sum) == 0 && m.Min.Cmp(other.Min) == 0 && m.Max.Cmp(other.Max) == 0
}

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

// Clone returns a copy that may be changed.
func (p Part) Clone() Part {
	p.Measures = maps.Clone(p.Measures)
	if p.Measures == nil {
		p.Measures = map[string]Measure{}
	}
	return p
}

// Same reports whether both have the same sums and counts. It ignores Restated.
func (p Part) Same(other Part) bool {
	return p.Events == other.Events && p.Skipped == other.Skipped && maps.EqualFunc(p.Measures, other.Measures, Measure.Same)
}

// Add adds one event with these numbers by field, as DynamoDB writes them.
func (p *Part) Add(numbers map[string]string) {
	p.Events++
	for _, field := range slices.Sorted(maps.Keys(numbers)) {
		if !p.measure(field, numbers[field]) {
			p.Skipped++
		}
	}
}

// measure adds one number and reports whether it and the sum are within the bounds. A sum exceeds them
// only after millions of very large and very fine numbers.
func (p *Part) measure(field, text string) bool {
	old, known := p.Measures[field]
	value, ok := Measurable(text)
	if !ok || field == "" || len(field) > MaxFieldName || !known && len(p.Measures) >= MaxMeasures {
		return false
	}
	m := Measure{N: 1, Sum: value, Min: value, Max: value}
	if known {
		m = old.merge(m)
	}
	if !m.Sum.storable() {
		return false
	}
	p.Measures[field] = m
	return true
}

// Merge adds another fragment, of the same bucket or another one.
func (p *Part) Merge(other Part) {
	p.Events += other.Events
	p.Skipped += other.Skipped
	p.Restated = p.Restated || other.Restated
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
