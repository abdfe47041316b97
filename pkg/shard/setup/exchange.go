package setup

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// rename returns a copy of a part of a call or of an answer, with the names exchanged if the part is for one of k's
// tables. forOurs means that the part belongs to a call for one of these tables.
func (k *keyRenamer) rename(part reflect.Value, forOurs bool) reflect.Value {
	copied := reflect.New(part.Type()).Elem()
	copied.Set(part)
	kind := part.Kind()
	isContainer := kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map
	switch {
	case kind == reflect.Struct:
		k.renameFields(copied, forOurs || k.isFor(part))
	case !isContainer || part.IsNil(): // nothing to rename
	case kind == reflect.Pointer:
		copied.Set(k.rename(part.Elem(), forOurs).Addr())
	case kind == reflect.Slice:
		copied.Set(reflect.MakeSlice(part.Type(), part.Len(), part.Len()))
		for i, item := range part.Seq2() {
			copied.Index(int(i.Int())).Set(k.rename(item, forOurs))
		}
	case part.Type() == reflect.TypeFor[dynamo.Item]():
		if forOurs {
			copied.Set(reflect.ValueOf(k.renameItem(part.Interface().(dynamo.Item))))
		}
	case slices.Contains(byAttribute, part.Type()):
		copied.Set(reflect.MakeMap(part.Type()))
		for name, condition := range part.Seq2() {
			if forOurs {
				name = reflect.ValueOf(k.newName(name.String()))
			}
			copied.SetMapIndex(name, condition)
		}
	default: // by the name of the table
		copied.Set(reflect.MakeMap(part.Type()))
		for table, requests := range part.Seq2() {
			copied.SetMapIndex(table, k.rename(requests, k.hasTable(table.String())))
		}
	}
	return copied
}

// byAttribute are the types of DynamoDB's legacy parameters, maps by attribute name.
var byAttribute = []reflect.Type{
	reflect.TypeFor[map[string]types.Condition](), reflect.TypeFor[map[string]types.ExpectedAttributeValue](), reflect.TypeFor[map[string]types.AttributeValueUpdate](),
}

// newName returns the name that replaces an attribute's name.
func (k *keyRenamer) newName(name string) string { return cmp.Or(k.newNames[name], name) }

// renameItem returns a copy of an item with the new names; nil stays nil.
func (k *keyRenamer) renameItem(it dynamo.Item) dynamo.Item {
	if it == nil {
		return nil
	}
	renamed := make(dynamo.Item, len(it))
	for name, value := range it {
		renamed[k.newName(name)] = value
	}
	return renamed
}

// renameFields renames the fields of a struct that rename has copied. It leaves out ExpressionAttributeValues, whose
// names (:x) are no attributes. forOurs is as in rename.
func (k *keyRenamer) renameFields(copied reflect.Value, forOurs bool) {
	for f, field := range copied.Fields() {
		if field.CanSet() && f.Name != "ExpressionAttributeValues" {
			field.Set(k.rename(field, forOurs))
		}
		if forOurs && f.Name == "AttributesToGet" {
			list := field.Interface().([]string)
			for i := range list {
				list[i] = k.newName(list[i])
			}
		}
	}
	if names := copied.FieldByName("ExpressionAttributeNames"); forOurs && names.IsValid() {
		k.renameExpressions(copied, names)
	}
}

// renameExpressions renames the expressions of a copied struct, and sets its ExpressionAttributeNames to their
// placeholders, since DynamoDB rejects others.
func (k *keyRenamer) renameExpressions(copied, attributeNames reflect.Value) {
	used := map[string]string{}
	for f, field := range copied.Fields() {
		if strings.HasSuffix(f.Name, "Expression") && !field.IsNil() {
			expression := field.Elem()
			expression.SetString(k.renameInExpression(expression.String(), attributeNames.Interface().(map[string]string), used))
		}
	}
	attributeNames.SetZero()
	if len(used) > 0 {
		attributeNames.Set(reflect.ValueOf(used))
	}
}

// token matches a word of an expression, with the signs that show its kind: .member, #name, :value or function( . A word
// that begins with a digit is the number of an element, since DynamoDB requires a placeholder for such a name.
var token = regexp.MustCompile(`\.?(?:[#:]\w+|\b[A-Za-z_]\w*)(?:\s*\()?`)

// isReserved reports whether a word is a placeholder or a keyword, and so not an attribute's name.
func isReserved(word string) bool {
	keywords := []string{"SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN"}
	return strings.ContainsAny(word, ":#") || slices.Contains(keywords, strings.ToUpper(word))
}

// renameInExpression returns an expression with the new names. names has the attributes of the expression's
// placeholders. renameInExpression adds the placeholders of the result, with their attributes, to used.
func (k *keyRenamer) renameInExpression(text string, names, used map[string]string) string {
	return token.ReplaceAllStringFunc(text, func(word string) string {
		placeholder := strings.TrimPrefix(word, ".")
		name, isPlaceholder := names[placeholder]
		if !isPlaceholder {
			name = word
		}
		index := slices.Index(k.names, name)
		isTopLevel := placeholder == word
		if index >= 0 && isTopLevel && (isPlaceholder || !isReserved(word)) {
			word = k.placeholder(index, names)
			used[word] = k.newNames[name]
		} else if isPlaceholder {
			used[placeholder] = name
		}
		return word
	})
}

// placeholder returns a placeholder for the name k.names[index] that is not in names.
func (k *keyRenamer) placeholder(index int, names map[string]string) string {
	placeholder := fmt.Sprint("#exchanged", index)
	for names[placeholder] != "" {
		placeholder += "x"
	}
	return placeholder
}
