package throttle

import (
	"maps"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// attributeChange is the change of one attribute by an update.
type attributeChange struct {
	removed bool
	value   types.AttributeValue // the new value; the variable computed if the request does not have it
}

// applyChanges returns the item after an update; before is nil for no item. A computed value becomes the variable
// computed. If inPartitionKey, the attribute keeps its old value instead, since an index write needs a partition key.
func applyChanges(before, key dynamo.Item, changes map[string]attributeChange, inPartitionKey func(string) bool) dynamo.Item {
	after := dynamo.Item{}
	maps.Copy(after, before)
	maps.Copy(after, key)
	for name, c := range changes {
		switch {
		case c.removed:
			delete(after, name)
		case c.value != computed || !inPartitionKey(name):
			after[name] = c.value
		}
	}
	return after
}

// parseUpdates returns the changes of an UpdateExpression by top-level attribute.
func parseUpdates(expression string, names map[string]string, values dynamo.Item) map[string]attributeChange {
	changes := map[string]attributeChange{}
	clause, depth, atTarget := "", 0, false // depth of parentheses; whether the next word is an attribute to change
	list := words(expression)
	for i, word := range list {
		switch {
		case depth == 0 && startsClause(word):
			clause, atTarget = strings.ToUpper(word), true
			continue
		case depth == 0 && word == ",":
			atTarget = true
			continue
		case word == "(":
			depth++
		case word == ")":
			depth--
		}
		if atTarget {
			name, nested := topLevelAttribute(word, names)
			changes[name] = clauseChange(clause, nested, list[i+1:], values)
			atTarget = false
		}
	}
	return changes
}

// clauseChange returns how a clause (SET, REMOVE, ADD or DELETE) changes an attribute. If it changes a nested value,
// the attribute's new value counts as computed. rest has the expression's words after the attribute.
func clauseChange(clause string, nested bool, rest []string, values dynamo.Item) attributeChange {
	switch {
	case nested:
	case clause == "REMOVE":
		return attributeChange{removed: true}
	case clause == "SET" && setsPlaceholder(rest):
		return attributeChange{value: values[rest[1]]}
	}
	return attributeChange{value: computed}
}

// setsPlaceholder reports whether the words after an attribute set it to a placeholder's value: "= :value".
func setsPlaceholder(rest []string) bool {
	if len(rest) < 2 || rest[0] != "=" || !strings.HasPrefix(rest[1], ":") {
		return false
	}
	return len(rest) == 2 || rest[2] == "," || startsClause(rest[2])
}

func startsClause(word string) bool {
	switch strings.ToUpper(word) {
	case "SET", "REMOVE", "ADD", "DELETE":
		return true
	}
	return false
}

// requiredValue returns the value that a KeyConditionExpression requires of an attribute by "="; false for none.
func requiredValue(expression, name string, names map[string]string, values dynamo.Item) (types.AttributeValue, bool) {
	list := words(expression)
	for i := 1; i+1 < len(list); i++ {
		if list[i] != "=" {
			continue
		}
		for _, pair := range [][2]string{{list[i-1], list[i+1]}, {list[i+1], list[i-1]}} {
			if left, _ := topLevelAttribute(pair[0], names); left == name && strings.HasPrefix(pair[1], ":") {
				v, ok := values[pair[1]]
				return v, ok
			}
		}
	}
	return nil, false
}

// topLevelAttribute returns the top-level attribute of a path, and whether the path leads to a nested value.
func topLevelAttribute(path string, names map[string]string) (name string, nested bool) {
	name = path
	if i := strings.IndexAny(path, ".["); i >= 0 {
		name, nested = path[:i], true
	}
	if real, ok := names[name]; ok {
		name = real
	}
	return name, nested
}

// words splits an expression into paths, placeholders and single other characters, without blanks.
func words(expression string) []string {
	var all []string
	start := -1                          // of the current word; -1 between words
	for i, r := range expression + " " { // the blank ends the last word
		inWord := r == '_' || r == '#' || r == ':' || r == '.' || r == '[' || r == ']' || unicode.IsLetter(r) || unicode.IsDigit(r)
		if inWord && start < 0 {
			start = i
		}
		if !inWord && start >= 0 {
			all = append(all, expression[start:i])
			start = -1
		}
		if !inWord && !unicode.IsSpace(r) {
			all = append(all, string(r))
		}
	}
	return all
}
