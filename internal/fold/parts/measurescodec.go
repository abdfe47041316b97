package parts

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo/record"
	"github.com/hotshard/hotshard/internal/base/schema"
)

const version = 1

// storedRollup is the value of a fragment in its item, which also has keys, a sequence number and times.
type storedRollup struct {
	Version int `dynamodbav:"v"`
	Rollup
}

// Attributes returns a fragment as it is stored, without its keys, its sequence number and its times.
func (p Rollup) Attributes() item {
	if p.Measures == nil {
		p.Measures = map[string]Measure{}
	}
	attributes := record.Item(storedRollup{version, p})
	if p.Skipped == 0 { // an update must replace the stored number, of which a fold may have subtracted all
		attributes[schema.RollupSkipped] = &types.AttributeValueMemberN{Value: "0"}
	}
	return attributes
}

// ParseRollup is the inverse of [Rollup.Attributes]. It returns an error for another version or damaged attributes.
func ParseRollup(attributes item) (Rollup, error) {
	v, ok := attributes[schema.Version].(*types.AttributeValueMemberN)
	if ok && v.Value != strconv.Itoa(version) {
		return Rollup{}, fmt.Errorf("it has version %.20q, and this release reads only %d: run the release that wrote it, or a newer one", v.Value, version)
	}
	var s storedRollup
	err := record.Read(attributes, &s)
	if fault, ok := errors.AsType[*record.Fault](err); ok {
		return Rollup{}, fmt.Errorf("its %q can't be read: %w", fault.Attribute, fault.Err)
	}
	if err != nil {
		return Rollup{}, err
	}
	if _, ok := s.Measures[""]; ok {
		return Rollup{}, errors.New("a measure has no name")
	}
	return s.Rollup, nil
}

// UnmarshalDynamoDBAttributeValue reads a complete measure, or returns an error.
func (m *Measure) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	type plain Measure
	stored, ok := v.(*types.AttributeValueMemberM)
	if !ok {
		return errors.New("a measure is not a map")
	}
	return record.Read(stored.Value, (*plain)(m))
}

// MarshalDynamoDBAttributeValue returns a number with all digits.
func (d Decimal) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberN{Value: d.String()}, nil
}

// UnmarshalDynamoDBAttributeValue parses a number as StoredDecimal does.
func (d *Decimal) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) (err error) {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return errors.New("it is not a number")
	}
	*d, err = StoredDecimal(n.Value)
	return err
}
