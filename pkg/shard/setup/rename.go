package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

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
// sk, and once.Options needs no names. Calls of PartiQL, and calls that create or describe tables, are not changed. A
// client may have several Names, each of other tables. If the names are invalid, each call returns ErrMisused.
func (n Names) RenameKeys(o *dynamodb.Options) {
	k, err := n.keys()
	o.APIOptions = append(slices.Clip(o.APIOptions), func(stack *middleware.Stack) error {
		if err != nil {
			return err
		}
		return k.addTo(stack.Initialize)
	})
}

// keys exchanges names of attributes in calls for some tables.
type keys struct {
	names  []string          // pk and sk, then the names of the tables' keys
	swap   map[string]string // for each of these the name to write for it
	tables []tableID
}

// tableID identifies a table. region and account are "" if they are not known.
type tableID struct{ name, region, account string }

// mayBe reports whether both may be the same table.
func (t tableID) mayBe(other tableID) bool {
	agree := func(a, b string) bool { return a == "" || b == "" || a == b }
	return t.name == other.name && agree(t.region, other.region) && agree(t.account, other.account)
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
	if (pk != schema.PK || sk != schema.SK) && n.Rollups+n.Heat != "" {
		return nil, fmt.Errorf("%w: setup.Names: hotshard's functions, which use Rollups and Heat, need the keys %s and %s",
			shard.ErrMisused, schema.PK, schema.SK)
	}
	k := &keys{names: []string{schema.PK, schema.SK, pk, sk}}
	k.swap = map[string]string{schema.PK: pk, schema.SK: sk, pk: schema.PK, sk: schema.SK}
	for _, t := range n.tables() {
		name, region, account, err := dynamo.TableName(t.Name)
		if err != nil {
			return nil, fmt.Errorf("%w: setup.Names: %w", shard.ErrMisused, err)
		}
		k.tables = append(k.tables, tableID{name, region, account})
	}
	return k, nil
}

// addTo adds k to a client's stack, after the SDK's own middleware: an idempotency token belongs to the caller's input.
func (k *keys) addTo(stack *middleware.InitializeStep) error {
	for _, id := range stack.List() {
		added, _ := stack.Get(id)
		other, ok := added.(*keys)
		switch {
		case !ok:
		case other.ID() == k.ID():
			return nil // a client that was made from the options of another one
		case slices.ContainsFunc(k.tables, func(t tableID) bool { return slices.ContainsFunc(other.tables, t.mayBe) }):
			return fmt.Errorf("%w: two setup.Names of a client have the same table: %v; %v", shard.ErrMisused, other.tables, k.tables)
		}
	}
	return stack.Add(k, middleware.After)
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
		*name = k.other(*name)
	}
	return t
}

// ID differs for different Names, since a client may have several.
func (k *keys) ID() string { return fmt.Sprint("hotshard's keys ", k.tables, k.names) }

// HandleInitialize renames the key attributes in a call's input, and back in its output and errors. Statements pass
// unchanged.
func (k *keys) HandleInitialize(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
	switch in.Parameters.(type) {
	case *dynamodb.ExecuteStatementInput, *dynamodb.BatchExecuteStatementInput, *dynamodb.ExecuteTransactionInput:
		return next.HandleInitialize(ctx, in)
	}
	call := reflect.ValueOf(in.Parameters).Elem()
	in.Parameters = k.renamed(call.Addr(), false).Interface()
	out, metadata, err = next.HandleInitialize(ctx, in)
	if err != nil {
		return out, metadata, k.failed(call, err)
	}
	answer := k.renamed(reflect.ValueOf(out.Result), k.isFor(call))
	if _, ok := out.Result.(*dynamodb.TransactGetItemsOutput); ok {
		responses, actions := answer.Elem().FieldByName("Responses"), call.FieldByName("TransactItems")
		for i := range min(responses.Len(), actions.Len()) {
			responses.Index(i).Set(k.renamed(responses.Index(i), k.isFor(actions.Index(i))))
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
	name, region, account, err := dynamo.TableName(nameOrARN)
	return err == nil && slices.ContainsFunc(k.tables, tableID{name, region, account}.mayBe)
}

// failed returns an error with hotshard's names in its items.
func (k *keys) failed(call reflect.Value, err error) error {
	if e, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok && k.isFor(call) {
		e.Item = k.item(e.Item)
	}
	if e, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		actions := call.FieldByName("TransactItems")
		for i := range min(len(e.CancellationReasons), actions.Len()) {
			if reason := &e.CancellationReasons[i]; k.isFor(actions.Index(i)) {
				reason.Item = k.item(reason.Item)
			}
		}
	}
	return err
}
