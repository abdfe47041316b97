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

// renamed returns a copy of a part of a call or of an answer. ours reports whether the part is for one of the tables.
func (k *keys) renamed(part reflect.Value, ours bool) reflect.Value {
	c := reflect.New(part.Type()).Elem()
	c.Set(part)
	switch kind := part.Kind(); {
	case kind == reflect.Struct:
		k.renameFields(c, ours || k.isFor(part))
	case kind != reflect.Pointer && kind != reflect.Slice && kind != reflect.Map || part.IsNil(): // nothing to rename
	case kind == reflect.Pointer:
		c.Set(k.renamed(part.Elem(), ours).Addr())
	case kind == reflect.Slice:
		c.Set(reflect.MakeSlice(part.Type(), part.Len(), part.Len()))
		for i, item := range part.Seq2() {
			c.Index(int(i.Int())).Set(k.renamed(item, ours))
		}
	case part.Type() == reflect.TypeFor[dynamo.Item]():
		if ours {
			c.Set(reflect.ValueOf(k.item(part.Interface().(dynamo.Item))))
		}
	case slices.Contains(byAttribute, part.Type()):
		c.Set(reflect.MakeMap(part.Type()))
		for name, condition := range part.Seq2() {
			if ours {
				name = reflect.ValueOf(k.other(name.String()))
			}
			c.SetMapIndex(name, condition)
		}
	default: // by the name of the table
		c.Set(reflect.MakeMap(part.Type()))
		for table, requests := range part.Seq2() {
			c.SetMapIndex(table, k.renamed(requests, k.has(table.String())))
		}
	}
	return c
}

// byAttribute are the types of DynamoDB's legacy parameters, maps by attribute name.
var byAttribute = []reflect.Type{
	reflect.TypeFor[map[string]types.Condition](), reflect.TypeFor[map[string]types.ExpectedAttributeValue](), reflect.TypeFor[map[string]types.AttributeValueUpdate](),
}

// other returns the name to write for an attribute.
func (k *keys) other(name string) string { return cmp.Or(k.swap[name], name) }

// item returns a copy of an item with the other names; nil for nil.
func (k *keys) item(it dynamo.Item) dynamo.Item {
	if it == nil {
		return nil
	}
	c := make(dynamo.Item, len(it))
	for name, value := range it {
		c[k.other(name)] = value
	}
	return c
}

// renameFields changes the fields of a copied struct.
func (k *keys) renameFields(c reflect.Value, ours bool) {
	for f, field := range c.Fields() {
		if field.CanSet() && f.Name != "ExpressionAttributeValues" {
			field.Set(k.renamed(field, ours))
		}
		if ours && f.Name == "AttributesToGet" {
			list := field.Interface().([]string)
			for i := range list {
				list[i] = k.other(list[i])
			}
		}
	}
	if names := c.FieldByName("ExpressionAttributeNames"); ours && names.IsValid() {
		renamed := map[string]string{} // only used names: DynamoDB rejects others
		for f, field := range c.Fields() {
			if strings.HasSuffix(f.Name, "Expression") && !field.IsNil() {
				field.Elem().SetString(k.expression(field.Elem().String(), names.Interface().(map[string]string), renamed))
			}
		}
		names.SetZero()
		if len(renamed) > 0 {
			names.Set(reflect.ValueOf(renamed))
		}
	}
}

// token is a word of an expression, with the signs that tell what it is: .member, #name, :value or function( . A word that
// begins with a digit is the number of an element, since DynamoDB requires a placeholder for such a name.
var token = regexp.MustCompile(`\.?(?:[#:]\w+|\b[A-Za-z_]\w*)(?:\s*\()?`)

// notAttribute reports whether a word is a placeholder, or a keyword: DynamoDB reserves these.
func notAttribute(word string) bool {
	keywords := []string{"SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN"}
	return strings.ContainsAny(word, ":#") || slices.Contains(keywords, strings.ToUpper(word))
}

// expression returns an expression with the other names, and adds its placeholders with their names to renamed.
func (k *keys) expression(text string, names, renamed map[string]string) string {
	return token.ReplaceAllStringFunc(text, func(word string) string {
		placeholder := strings.TrimPrefix(word, ".")
		name, isName := names[placeholder]
		if !isName {
			name = word
		}
		at := slices.Index(k.names, name)
		if at >= 0 && placeholder == word && (isName || !notAttribute(word)) {
			word = k.placeholder(at, names)
			renamed[word] = k.swap[name]
		} else if isName {
			renamed[placeholder] = name
		}
		return word
	})
}

// placeholder returns a placeholder for one of k.names that stands for no other attribute in names.
func (k *keys) placeholder(at int, names map[string]string) string {
	p := fmt.Sprint("#exchanged", at)
	for names[p] != "" && !slices.Contains(k.names, names[p]) {
		p += "x"
	}
	return p
}
