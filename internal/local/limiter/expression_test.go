package limiter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestUpdates(t *testing.T) {
	names := map[string]string{"#g": "group", "#d": "a.b"}
	text := "v"
	values := item{":v": {S: &text}}
	set, removed, computed := change{value: values[":v"]}, change{removed: true}, change{value: attr{computed: true}}
	tests := []struct {
		expression string
		want       map[string]change
	}{
		{"", map[string]change{}},
		{"SET a = :v", map[string]change{"a": set}},
		{"set #g=:v,#d = :v", map[string]change{"group": set, "a.b": set}},
		{"SET a = b", map[string]change{"a": computed}},
		{"SET a = a + :v, b = :v", map[string]change{"a": computed, "b": set}},
		{"SET a = if_not_exists(a, :v), b = list_append(b, :v) REMOVE c", map[string]change{"a": computed, "b": computed, "c": removed}},
		{"SET a = (b + :v) , c = :v", map[string]change{"a": computed, "c": set}},
		{"SET a.b = :v, #g.c[1] = :v", map[string]change{"a": computed, "group": computed}},
		{"REMOVE a, #g, b[2], c.d", map[string]change{"a": removed, "group": removed, "b": computed, "c": computed}},
		{"ADD a :v, b :v DELETE c :v\nSET d = :v", map[string]change{"a": computed, "b": computed, "c": computed, "d": set}},
	}
	for _, test := range tests {
		got := updates(test.expression, names, values)
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(change{}, attr{})); diff != "" {
			t.Errorf("%s: %s", test.expression, diff)
		}
	}
}

func TestOlderUpdates(t *testing.T) {
	text := "v"
	value := attr{S: &text}
	tests := []struct {
		update attributeUpdate
		want   change
	}{
		{attributeUpdate{"PUT", &value}, change{value: value}},
		{attributeUpdate{"", &value}, change{value: value}},
		{attributeUpdate{"DELETE", nil}, change{removed: true}},
		{attributeUpdate{"DELETE", &value}, change{value: attr{computed: true}}},
		{attributeUpdate{"ADD", &value}, change{value: attr{computed: true}}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, test.update.change(), cmp.AllowUnexported(change{}, attr{})); diff != "" {
			t.Errorf("%+v: %s", test.update, diff)
		}
	}
}

func TestKeyConditions(t *testing.T) {
	text := "v"
	values := item{":v": {S: &text}, ":w": {}}
	tests := []struct {
		expression string
		want       bool
	}{
		{"pk = :v", true},
		{"pk=:v", true},
		{":v = pk", true},
		{"(#p = :v)", true},
		{"sk > :w AND (pk = :v)", true},
		{"sk = :w and #p=:v", true},
		{"sk = :w", false},
		{"pk = :missing", false},
		{"pk > :v", false},
		{"pk =", false},
		{"", false},
	}
	for _, test := range tests {
		v, ok := equals(test.expression, "pk", map[string]string{"#p": "pk"}, values)
		if ok != test.want || ok && v.S == nil {
			t.Errorf("%s: %+v, %v, want %v", test.expression, v, ok, test.want)
		}
	}
}

// TestAnyExpression wants no panic, whatever comes.
func TestAnyExpression(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expression := rapid.OneOf(rapid.String(), rapid.StringMatching(`((SET|REMOVE|ADD|[a=(),:#.\[\]+-]|:v|é| ){0,12})`)).Draw(t, "expression")
		updates(expression, nil, item{":v": {}})
		equals(expression, "a", nil, item{":v": {}})
	})
}
