package fold

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Bucket returns the width of the rollups of an entity's events, an hour or a day. ok is false for an entity without a
// rule.
func (r Rules) Bucket(entity string) (width shard.Bucket, ok bool) {
	rule, ok := r.ruleOf(entity)
	return rule.bucket(), ok
}

// Numbers returns the numbers of a stored event that are rolled up, by field; nil for an event without data. Of the item it
// needs only the attribute data. It returns an error if the event can't be folded, or the entity has no rule.
func (r Rules) Numbers(entity string, item map[string]types.AttributeValue) (map[string]string, error) {
	rule, ok := r.ruleOf(entity)
	if !ok {
		return nil, fmt.Errorf("no rule rolls up the events of %q: add a rule for them", entity)
	}
	value, hasData := item[data]
	if !hasData {
		return nil, nil
	}
	members, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("its attribute %s is not a map", data)
	}
	numbers := map[string]string{}
	for field, member := range members.Value {
		if n, ok := member.(*types.AttributeValueMemberN); ok && rule.wants(field) {
			numbers[field] = n.Value
		}
	}
	return numbers, nil
}

// wants reports whether a field's numbers are rolled up.
func (r rule) wants(field string) bool {
	return len(r.Fields) == 0 || slices.Contains(r.Fields, field)
}
