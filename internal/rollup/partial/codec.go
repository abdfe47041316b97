package partial

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

type item = map[string]types.AttributeValue

// Names in a stored measure.
const (
	nameN   = "n"
	nameSum = "sum"
	nameMin = "min"
	nameMax = "max"
)

// Attributes returns the part as it is stored, without its keys, its sequence number and its times. What
// was once true or above 0 stays so, so that an update that sets all of them
// leaves nothing of an older state.
func (p Partial) Attributes() map[string]types.AttributeValue {
	measures := item{}
	for field, m := range p.Measures {
		measures[field] = &types.AttributeValueMemberM{Value: item{
			nameN: whole(m.N), nameSum: decimal(m.Sum), nameMin: decimal(m.Min), nameMax: decimal(m.Max),
		}}
	}
	attributes := item{
		schema.Version:        &types.AttributeValueMemberN{Value: schema.RollupVersion},
		schema.RollupEvents:   whole(p.Events),
		schema.RollupMeasures: &types.AttributeValueMemberM{Value: measures},
	}
	if p.Skipped > 0 {
		attributes[schema.RollupSkipped] = whole(p.Skipped)
	}
	if p.Restated {
		attributes[schema.RollupRestated] = &types.AttributeValueMemberBOOL{Value: true}
	}
	return attributes
}

func whole(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func decimal(d Decimal) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: d.String()}
}

// Parse reads a part as Attributes makes it. The error says what of an item of
// another version or of a damaged one can't be read.
func Parse(attributes map[string]types.AttributeValue) (Partial, error) {
	r := reader{}
	if v := r.number(attributes, schema.Version); r.err == nil && v != schema.RollupVersion {
		return Partial{}, fmt.Errorf("it has version %.20q, and %s can be read", v, schema.RollupVersion)
	}
	p := Partial{Events: r.count(attributes, schema.RollupEvents), Measures: map[string]Measure{}}
	if _, ok := attributes[schema.RollupSkipped]; ok {
		p.Skipped = r.count(attributes, schema.RollupSkipped)
	}
	if restated, ok := attributes[schema.RollupRestated].(*types.AttributeValueMemberBOOL); ok {
		p.Restated = restated.Value
	}
	for field, value := range r.members(attributes, schema.RollupMeasures) {
		p.Measures[field] = r.measure(field, value)
	}
	return p, r.err
}

// reader keeps the first fault.
type reader struct{ err error }

func (r *reader) fault(name string) {
	if r.err == nil {
		r.err = fmt.Errorf("its %.60q can't be read", name)
	}
}

func (r *reader) number(from item, name string) string {
	n, ok := from[name].(*types.AttributeValueMemberN)
	if !ok {
		r.fault(name)
		return ""
	}
	return n.Value
}

func (r *reader) count(from item, name string) int64 {
	n, err := strconv.ParseInt(r.number(from, name), 10, 64)
	if err != nil || n < 0 {
		r.fault(name)
	}
	return n
}

func (r *reader) decimal(from item, name string) Decimal {
	d, err := Stored(r.number(from, name))
	if err != nil {
		r.fault(name)
	}
	return d
}

func (r *reader) members(from item, name string) item {
	m, ok := from[name].(*types.AttributeValueMemberM)
	if !ok {
		r.fault(name)
		return nil
	}
	return m.Value
}

func (r *reader) measure(field string, value types.AttributeValue) Measure {
	m, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		r.fault(field)
		return Measure{}
	}
	measure := Measure{
		N: r.count(m.Value, nameN), Sum: r.decimal(m.Value, nameSum),
		Min: r.decimal(m.Value, nameMin), Max: r.decimal(m.Value, nameMax),
	}
	if measure.N < 1 {
		r.fault(field)
	}
	return measure
}
