package limiter

import (
	"strings"
	"unicode"
)

// change is what an update does to an attribute.
type change struct {
	removed bool
	value   attr // computed, if it isn't simply set
}

// apply returns the item after the changes, starting from the key where there
// was none. A computed value is marked as such; where it is in the partition key
// of an index (hashes), the old one stays, the new one being anyone's guess.
func apply(before, key item, changes map[string]change, hashes func(string) bool) item {
	after := item{}
	for name, v := range before {
		after[name] = v
	}
	for name, v := range key {
		after[name] = v
	}
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

// updates returns what an UpdateExpression does to each top-level attribute that
// it names as a target.
func updates(expression string, names map[string]string, values item) map[string]change {
	changes := map[string]change{}
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
func clause(section string, nested bool, rest []string, values item) change {
	computed := change{value: attr{computed: true}}
	if nested {
		return computed
	}
	switch section {
	case "REMOVE":
		return change{removed: true}
	case "SET":
		ends := len(rest) == 2 || len(rest) > 2 && (rest[2] == "," || isSection(rest[2]))
		if ends && rest[0] == "=" && strings.HasPrefix(rest[1], ":") {
			return change{value: values[rest[1]]}
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

// attributeUpdate is one of the older way to say what an update does.
type attributeUpdate struct {
	Action string
	Value  *attr
}

func (u attributeUpdate) change() change {
	switch {
	case u.Action == "DELETE" && u.Value == nil:
		return change{removed: true}
	case (u.Action == "PUT" || u.Action == "") && u.Value != nil:
		return change{value: *u.Value}
	}
	return change{value: attr{computed: true}}
}

// equals returns the value that a KeyConditionExpression wants of an attribute.
func equals(expression, name string, names map[string]string, values item) (attr, bool) {
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
	return attr{}, false
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
