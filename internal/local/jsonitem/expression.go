package jsonitem

import (
	"maps"
	"strings"
	"unicode"
)

// Change is what an update does to an attribute.
type Change struct {
	removed bool
	value   Value // computed, if it isn't simply set
}

// Computed tells whether only the engine knows the value that comes of it.
func (c Change) Computed() bool { return c.value.computed }

// Apply returns the item after the changes, starting from the key where there
// was none. A computed value is marked as such; where it is in the partition key
// of an index (hashes), the old one stays, the new one being anyone's guess.
func Apply(before, key Item, changes map[string]Change, hashes func(string) bool) Item {
	after := Item{}
	maps.Copy(after, before)
	maps.Copy(after, key)
	for name, c := range changes {
		switch {
		case c.removed:
			delete(after, name)
		case !c.value.computed || !hashes(name):
			after[name] = c.value
		}
	}
	return after
}

// Updates returns what an UpdateExpression does to each top-level attribute that
// it names as a target.
func Updates(expression string, names map[string]string, values Item) map[string]Change {
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

// clause reads what follows a target up to the next comma or section.
func clause(section string, nested bool, rest []string, values Item) Change {
	computed := Change{value: Value{computed: true}}
	if nested {
		return computed
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
	return computed
}

func isSection(word string) bool {
	switch strings.ToUpper(word) {
	case "SET", "REMOVE", "ADD", "DELETE":
		return true
	}
	return false
}

// AttributeUpdate is one of the older way to say what an update does.
type AttributeUpdate struct {
	Action string
	Value  *Value
}

// Change is what the update does.
func (u AttributeUpdate) Change() Change {
	switch {
	case u.Action == "DELETE" && u.Value == nil:
		return Change{removed: true}
	case (u.Action == "PUT" || u.Action == "") && u.Value != nil:
		return Change{value: *u.Value}
	}
	return Change{value: Value{computed: true}}
}

// Equals returns the value that a KeyConditionExpression wants of an attribute.
func Equals(expression, name string, names map[string]string, values Item) (Value, bool) {
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
	return Value{}, false
}

// attribute returns the top-level attribute that a path is in, and whether the
// path leads into it.
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

// words splits an expression into paths, placeholders and signs.
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
