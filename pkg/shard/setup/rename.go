package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// RenameKeys is an option of DynamoDB's client, for tables whose keys are not called pk and sk:
//
//	db := dynamodb.NewFromConfig(cfg, names.RenameKeys)
//
// All constructors of the library take this client. In its calls for tables of n, pk and sk stand for the table's keys, and
// the keys' names for attributes that are stored as pk and sk. So a table.Table on one of these tables has the keys pk and
// sk, and once.Options needs no names. Calls of PartiQL, calls with conditions that are not expressions, and calls that
// create or describe tables are not changed. If the names are invalid, each call returns ErrMisused.
func (n Names) RenameKeys(o *dynamodb.Options) {
	k, err := n.keys()
	o.APIOptions = append(slices.Clip(o.APIOptions), func(stack *middleware.Stack) error {
		if err != nil {
			return err
		}
		return stack.Initialize.Add(k, middleware.Before)
	})
}

// keys exchanges names of attributes in calls for some tables.
type keys struct {
	names  []string          // pk and sk, then the names of the tables' keys
	swap   map[string]string // for each of these the name to write for it
	tables []string
}

// maxKeyName is DynamoDB's limit of the bytes of a key's name.
const maxKeyName = 255

// keys returns ErrMisused for invalid names.
func (n Names) keys() (*keys, error) {
	pk, sk := cmp.Or(n.PartitionKey, schema.PK), cmp.Or(n.SortKey, schema.SK)
	if pk == sk || pk == schema.SK || sk == schema.PK || max(len(pk), len(sk)) > maxKeyName {
		return nil, fmt.Errorf("%w: setup.Names: the keys %q and %q must differ, be no longer than %d bytes, and not be sk and pk",
			shard.ErrMisused, pk, sk, maxKeyName)
	}
	k := &keys{names: []string{schema.PK, schema.SK, pk, sk}}
	k.swap = map[string]string{schema.PK: pk, schema.SK: sk, pk: schema.PK, sk: schema.SK}
	for _, t := range n.tables() {
		name, _, _, err := dynamo.TableName(t.Name)
		if err != nil {
			return nil, fmt.Errorf("%w: setup.Names: %w", shard.ErrMisused, err)
		}
		k.tables = append(k.tables, name)
	}
	return k, nil
}

// table returns a table with its own names.
func (k *keys) table(t schema.Table) schema.Table {
	names := []*string{&t.PartitionKey, &t.SortKey, &t.TTL}
	for i := range t.Indexes {
		x := &t.Indexes[i]
		names = append(names, &x.PartitionKey, &x.SortKey)
		for j := range x.Include {
			names = append(names, &x.Include[j])
		}
	}
	for _, name := range names {
		*name = cmp.Or(k.swap[*name], *name)
	}
	return t
}

// ID is unique, since a client may have several names.
func (k *keys) ID() string { return fmt.Sprint("hotshard's keys ", k.tables, k.names) }

// HandleInitialize makes a call.
func (k *keys) HandleInitialize(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
	call := reflect.ValueOf(in.Parameters).Elem()
	in.Parameters = k.renamed(call.Addr(), false).Interface()
	out, metadata, err = next.HandleInitialize(ctx, in)
	if err != nil {
		if err = k.failed(call, err); isInvalid(err) && !reflect.DeepEqual(in.Parameters, call.Addr().Interface()) {
			err = fmt.Errorf("%w (setup.Names has the keys %s and %s for %s)", err, k.names[2], k.names[3], strings.Join(k.tables, ", "))
		}
		return out, metadata, err
	}
	answer := k.renamed(reflect.ValueOf(out.Result), k.isFor(call))
	if _, ok := out.Result.(*dynamodb.TransactGetItemsOutput); ok {
		responses := answer.Elem().FieldByName("Responses")
		for i := range responses.Len() {
			responses.Index(i).Set(k.renamed(responses.Index(i), k.isFor(call.FieldByName("TransactItems").Index(i))))
		}
	}
	out.Result = answer.Interface()
	return out, metadata, nil
}

// isFor reports whether a call, or an action of a transaction, is for one of the tables.
func (k *keys) isFor(call reflect.Value) bool {
	for name, field := range call.Fields() {
		switch {
		case name.Name == "TableName":
			return k.has(field.Elem().String())
		case field.Kind() == reflect.Pointer && !field.IsNil() && field.Elem().Kind() == reflect.Struct && k.isFor(field.Elem()):
			return true
		}
	}
	return false
}

func (k *keys) has(nameOrARN string) bool {
	name, _, _, _ := dynamo.TableName(nameOrARN)
	return name != "" && slices.Contains(k.tables, name)
}

// isInvalid reports whether the keys of a call may not be those of its table.
func isInvalid(err error) bool {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok && dynamo.HasReason(canceled, "ValidationError") || dynamo.IsInvalid(err) && strings.Contains(err.Error(), "key")
}

// failed returns an error with hotshard's names in its items.
func (k *keys) failed(call reflect.Value, err error) error {
	if e, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok && k.isFor(call) {
		e.Item = k.item(e.Item)
	}
	if e, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for i := range e.CancellationReasons {
			if reason := &e.CancellationReasons[i]; k.isFor(call.FieldByName("TransactItems").Index(i)) {
				reason.Item = k.item(reason.Item)
			}
		}
	}
	return err
}

// renamed returns a copy of a part of a call or of an answer. ours reports whether the part is for one of the tables.
func (k *keys) renamed(part reflect.Value, ours bool) reflect.Value {
	c := reflect.New(part.Type()).Elem()
	c.Set(part)
	switch elem := part.Kind(); {
	case elem == reflect.Struct:
		k.renameFields(c, ours || k.isFor(part))
	case elem != reflect.Pointer && elem != reflect.Slice && elem != reflect.Map || part.IsNil():
	case elem == reflect.Pointer:
		c.Set(k.renamed(part.Elem(), ours).Addr())
	case elem == reflect.Slice:
		c.Set(reflect.MakeSlice(part.Type(), part.Len(), part.Len()))
		for i, item := range part.Seq2() {
			c.Index(int(i.Int())).Set(k.renamed(item, ours))
		}
	case part.Type() == reflect.TypeFor[dynamo.Item]():
		if ours {
			c.Set(reflect.ValueOf(k.item(part.Interface().(dynamo.Item))))
		}
	default: // by the name of the table
		c.Set(reflect.MakeMap(part.Type()))
		for table, requests := range part.Seq2() {
			c.SetMapIndex(table, k.renamed(requests, k.has(table.String())))
		}
	}
	return c
}

// item returns an item with the other names.
func (k *keys) item(it dynamo.Item) dynamo.Item {
	c := make(dynamo.Item, len(it))
	for name, value := range it {
		c[cmp.Or(k.swap[name], name)] = value
	}
	return c
}

// renameFields changes the fields of a copied struct.
func (k *keys) renameFields(c reflect.Value, ours bool) {
	for f, field := range c.Fields() {
		if field.CanSet() && f.Name != "ExpressionAttributeValues" {
			field.Set(k.renamed(field, ours))
		}
	}
	if names := c.FieldByName("ExpressionAttributeNames"); ours && names.IsValid() {
		renamed := map[string]string{} // only used names: DynamoDB rejects others
		for f, field := range c.Fields() {
			if strings.HasSuffix(f.Name, "Expression") && !field.IsNil() {
				field.Elem().SetString(k.expression(field.Elem().String(), names.Interface().(map[string]string), renamed))
			}
		}
		if names.SetZero(); len(renamed) > 0 {
			names.Set(reflect.ValueOf(renamed))
		}
	}
}

// token is a word of an expression, with the signs that tell what it is: .member, #name, :value or function(
var token = regexp.MustCompile(`\.?[#:]?\b\w+(\s*\()?`)

// notAttribute reports whether a word is a placeholder, or a keyword: DynamoDB reserves these.
func notAttribute(word string) bool {
	keywords := []string{"SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN"}
	return strings.ContainsAny(word, ":#") || slices.Contains(keywords, strings.ToUpper(word))
}

// expression returns an expression with the other names, and adds the names behind its # to renamed.
func (k *keys) expression(text string, names, renamed map[string]string) string {
	return token.ReplaceAllStringFunc(text, func(word string) string {
		placeholder := strings.TrimPrefix(word, ".")
		name, isName := names[placeholder]
		if !isName {
			name = word
		}
		at := slices.Index(k.names, name)
		if at >= 0 && placeholder == word && (isName || !notAttribute(word)) {
			word = fmt.Sprint("#exchanged", at)
			renamed[word] = k.swap[name]
		} else if isName {
			renamed[placeholder] = name
		}
		return word
	})
}
