package throttle

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// TestUpdates checks how an update expression changes each attribute: to a value, to a computed value, or not at all.
func TestUpdates(t *testing.T) {
	names := map[string]string{"#g": "group", "#d": "a.b"}
	values := dynamo.Item{":v": dynamo.String("v")}
	set, removed, computed := attributeChange{value: values[":v"]}, attributeChange{removed: true}, attributeChange{value: computed}
	tests := []struct {
		expression string
		want       map[string]attributeChange
	}{
		{"", map[string]attributeChange{}},
		{"SET a = :v", map[string]attributeChange{"a": set}},
		{"set #g=:v,#d = :v", map[string]attributeChange{"group": set, "a.b": set}},
		{"SET a = b", map[string]attributeChange{"a": computed}},
		{"SET a = a + :v, b = :v", map[string]attributeChange{"a": computed, "b": set}},
		{"SET a = if_not_exists(a, :v), b = list_append(b, :v) REMOVE c", map[string]attributeChange{"a": computed, "b": computed, "c": removed}},
		{"SET a = (b + :v) , c = :v", map[string]attributeChange{"a": computed, "c": set}},
		{"SET a.b = :v, #g.c[1] = :v", map[string]attributeChange{"a": computed, "group": computed}},
		{"REMOVE a, #g, b[2], c.d", map[string]attributeChange{"a": removed, "group": removed, "b": computed, "c": computed}},
		{"ADD a :v, b :v DELETE c :v\nSET d = :v", map[string]attributeChange{"a": computed, "b": computed, "c": computed, "d": set}},
	}
	for _, test := range tests {
		got := parseUpdates(test.expression, names, values)
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.expression, got, test.want)
		}
	}
}

// TestAnyExpression checks that no expression causes a panic.
func TestAnyExpression(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expression := rapid.OneOf(rapid.String(), rapid.StringMatching(`((SET|REMOVE|ADD|[a=(),:#.\[\]+-]|:v|é| ){0,12})`)).Draw(t, "expression")
		parseUpdates(expression, nil, dynamo.Item{":v": nil})
		requiredValue(expression, "a", nil, dynamo.Item{":v": nil})
	})
}
