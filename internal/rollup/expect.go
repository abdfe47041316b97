package rollup

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Bucket returns how an entity's events are rolled up, by the hour or by the day;
// ok is false for an entity without a rule.
func (r Rules) Bucket(entity string) (width shard.Bucket, ok bool) {
	rule, ok := r.find(entity)
	return rule.bucket(), ok
}

// Numbers returns the numbers of a stored event that are rolled up, by field, as a
// fold takes them from the stream: for measures.Part.Add. The item is the event's
// and has at least its data, if it has any. The error says why it can't be folded,
// also that no rule is for the entity.
func (r Rules) Numbers(entity string, item map[string]types.AttributeValue) (map[string]string, error) {
	rule, ok := r.find(entity)
	if !ok {
		return nil, fmt.Errorf("no rule rolls up the events of %q", entity)
	}
	value, has := item[data]
	if !has {
		return nil, nil
	}
	members, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("its %s is not a map", data)
	}
	numbers := map[string]string{}
	for field, member := range members.Value {
		if n, ok := member.(*types.AttributeValueMemberN); ok && rule.wants(field) {
			numbers[field] = n.Value
		}
	}
	return numbers, nil
}

// wants tells whether a field's numbers are rolled up.
func (r rule) wants(field string) bool {
	return len(r.Fields) == 0 || slices.Contains(r.Fields, field)
}
