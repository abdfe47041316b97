package jsonitem

import (
	"maps"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// Change is the change of one attribute by an update.
type Change struct {
	removed bool
	value   types.AttributeValue // computed unless the request has the value itself
}

// Computed reports whether only the engine knows the new value.
func (c Change) Computed() bool { return c.value == computed }

// Apply returns the item after the changes. Without an item before, it starts from the key. A computed value
// is marked as computed, unless hashes reports that the attribute is the partition key of an index: then the
// old value stays, because the new one is unknown.
func Apply(before, key dynamo.Item, changes map[string]Change, hashes func(string) bool) dynamo.Item {
	after := dynamo.Item{}
	maps.Copy(after, before)
	maps.Copy(after, key)
	for name, c := range changes {
		switch {
		case c.removed:
			delete(after, name)
		case !c.Computed() || !hashes(name):
			after[name] = c.value
		}
	}
	return after
}

// Updates returns the changes of an UpdateExpression by top-level attribute.
func Updates(expression string, names map[string]string, values dynamo.Item) map[string]Change {
	changes := map[string]Change{}
	section, depth, target := "", 0, false
	words := words(expression)
	for i, word := range words {
		switch {
		case depth == 0 && isSection(word):
			section, target = strings.ToUpper(word), true
			continue
		case depth == 0 && word == ",":
			target = true
			continue
		case word == "(":
			depth++
		case word == ")":
			depth--
		}
		if target {
			name, nested := attribute(word, names)
			changes[name] = clause(section, nested, words[i+1:], values)
			target = false
		}
	}
	return changes
}

// clause returns the change of a target. The rest begins behind the target.
func clause(section string, nested bool, rest []string, values dynamo.Item) Change {
	if nested {
		return Change{value: computed}
	}
	switch section {
	case "REMOVE":
		return Change{removed: true}
	case "SET":
		ends := len(rest) == 2 || len(rest) > 2 && (rest[2] == "," || isSection(rest[2]))
		if ends && rest[0] == "=" && strings.HasPrefix(rest[1], ":") {
			return Change{value: values[rest[1]]}
		}
	}
	return Change{value: computed}
}

func isSection(word string) bool {
	switch strings.ToUpper(word) {
	case "SET", "REMOVE", "ADD", "DELETE":
		return true
	}
	return false
}

// AttributeUpdate is an element of AttributeUpdates, the legacy form of an UpdateExpression.
type AttributeUpdate struct {
	Action string
	Value  types.AttributeValue
}

// Change returns the change of the attribute.
func (u AttributeUpdate) Change() Change {
	switch {
	case u.Action == "DELETE" && u.Value == nil:
		return Change{removed: true}
	case (u.Action == "PUT" || u.Action == "") && u.Value != nil:
		return Change{value: u.Value}
	}
	return Change{value: computed}
}

// Equals returns the value that a KeyConditionExpression requires of an attribute by "=".
func Equals(expression, name string, names map[string]string, values dynamo.Item) (types.AttributeValue, bool) {
	words := words(expression)
	for i := 1; i+1 < len(words); i++ {
		if words[i] != "=" {
			continue
		}
		for _, pair := range [][2]string{{words[i-1], words[i+1]}, {words[i+1], words[i-1]}} {
			if left, _ := attribute(pair[0], names); left == name && strings.HasPrefix(pair[1], ":") {
				v, ok := values[pair[1]]
				return v, ok
			}
		}
	}
	return nil, false
}

// attribute returns the top-level attribute of a path, and whether the path leads to a nested value.
func attribute(path string, names map[string]string) (name string, nested bool) {
	name = path
	if i := strings.IndexAny(path, ".["); i >= 0 {
		name, nested = path[:i], true
	}
	if real, ok := names[name]; ok {
		name = real
	}
	return name, nested
}

// words splits an expression into paths, placeholders and operators.
func words(expression string) []string {
	var all []string
	start := -1
	for i, r := range expression + " " {
		part := r == '_' || r == '#' || r == ':' || r == '.' || r == '[' || r == ']' || unicode.IsLetter(r) || unicode.IsDigit(r)
		if part && start < 0 {
			start = i
		}
		if !part && start >= 0 {
			all = append(all, expression[start:i])
			start = -1
		}
		if !part && !unicode.IsSpace(r) {
			all = append(all, string(r))
		}
	}
	return all
}
