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
// All constructors of the library take this client. In calls for tables of n, pk and sk stand for the table's keys. The
// keys' own names stand for attributes that are stored as pk and sk. So a table.Table on one of these tables has the
// keys pk and sk, and once.Options needs no names. Calls of PartiQL, and calls that create or describe tables, are not
// changed. A client may have several Names, each of other tables. If the names are invalid, each call returns
// ErrMisused.
func (n Names) RenameKeys(o *dynamodb.Options) {
	k, err := n.renamer()
	o.APIOptions = append(slices.Clip(o.APIOptions), func(stack *middleware.Stack) error {
		if err != nil {
			return err
		}
		return k.addTo(stack.Initialize)
	})
}

// keyRenamer exchanges names of attributes in calls for some tables.
type keyRenamer struct {
	names    []string          // pk and sk, then the tables' names for them
	newNames map[string]string // by name in names: the name that replaces it
	tables   []tableID
}

// tableID identifies a table. region and account are "" if they are not known.
type tableID struct{ name, region, account string }

// mayEqual reports whether t and other may identify the same table: what both know of it agrees.
func (t tableID) mayEqual(other tableID) bool {
	agree := func(a, b string) bool { return a == "" || b == "" || a == b }
	return t.name == other.name && agree(t.region, other.region) && agree(t.account, other.account)
}

// maxKeyName is DynamoDB's limit of the bytes of a key's name.
const maxKeyName = 255

// renamer returns the exchange of the names pk and sk for the tables' names of their keys, or ErrMisused for invalid names.
func (n Names) renamer() (*keyRenamer, error) {
	pk, sk := cmp.Or(n.PartitionKey, schema.PK), cmp.Or(n.SortKey, schema.SK)
	if pk == sk || pk == schema.SK || sk == schema.PK || max(len(pk), len(sk)) > maxKeyName {
		return nil, fmt.Errorf("%w: setup.Names: PartitionKey %q and SortKey %q must differ and have at most %d bytes; PartitionKey must not be sk, nor SortKey pk",
			shard.ErrMisused, pk, sk, maxKeyName)
	}
	hasOtherKeys := pk != schema.PK || sk != schema.SK
	if hasOtherKeys && n.Rollups+n.Heat != "" {
		return nil, fmt.Errorf("%w: setup.Names: hotshard's functions, which use Rollups and Heat, need the keys %s and %s",
			shard.ErrMisused, schema.PK, schema.SK)
	}
	k := &keyRenamer{names: []string{schema.PK, schema.SK, pk, sk}}
	k.newNames = map[string]string{schema.PK: pk, schema.SK: sk, pk: schema.PK, sk: schema.SK}
	for _, t := range n.tables() {
		name, region, account, err := dynamo.TableName(t.Name)
		if err != nil {
			return nil, fmt.Errorf("%w: setup.Names: %w", shard.ErrMisused, err)
		}
		k.tables = append(k.tables, tableID{name, region, account})
	}
	return k, nil
}

// addTo adds k to a client's stack, after the SDK's own middleware, since an idempotency token belongs to the caller's
// input. It returns ErrMisused if the stack has other Names with the same table.
func (k *keyRenamer) addTo(stack *middleware.InitializeStep) error {
	for _, id := range stack.List() {
		added, _ := stack.Get(id)
		other, ok := added.(*keyRenamer)
		switch {
		case !ok:
		case other.ID() == k.ID():
			return nil // the client was made from another client's options
		case slices.ContainsFunc(k.tables, func(t tableID) bool { return slices.ContainsFunc(other.tables, t.mayEqual) }):
			return fmt.Errorf("%w: two setup.Names of a client have the same table: give each its own; they are %v and %v", shard.ErrMisused, other.tables, k.tables)
		}
	}
	return stack.Add(k, middleware.After)
}

// table returns a table's definition with the names of its keys.
func (k *keyRenamer) table(t schema.Table) schema.Table {
	names := []*string{&t.PartitionKey, &t.SortKey, &t.TTL}
	for i := range t.Indexes {
		index := &t.Indexes[i]
		names = append(names, &index.PartitionKey, &index.SortKey)
		for j := range index.Include {
			names = append(names, &index.Include[j])
		}
	}
	for _, name := range names {
		*name = k.newName(*name)
	}
	return t
}

// ID returns the name of k in a client's stack, which differs for different Names.
func (k *keyRenamer) ID() string { return fmt.Sprint("hotshard's keys ", k.tables, k.names) }

// HandleInitialize renames the key attributes in a call's input, and back in its output and errors. It leaves calls of
// PartiQL as they are.
func (k *keyRenamer) HandleInitialize(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
	switch in.Parameters.(type) {
	case *dynamodb.ExecuteStatementInput, *dynamodb.BatchExecuteStatementInput, *dynamodb.ExecuteTransactionInput:
		return next.HandleInitialize(ctx, in)
	}
	call := reflect.ValueOf(in.Parameters).Elem()
	in.Parameters = k.rename(call.Addr(), false).Interface()
	out, metadata, err = next.HandleInitialize(ctx, in)
	if err != nil {
		return out, metadata, k.renameError(call, err)
	}
	answer := k.rename(reflect.ValueOf(out.Result), k.isFor(call))
	if _, ok := out.Result.(*dynamodb.TransactGetItemsOutput); ok {
		responses, actions := answer.Elem().FieldByName("Responses"), call.FieldByName("TransactItems")
		for i := range min(responses.Len(), actions.Len()) {
			responses.Index(i).Set(k.rename(responses.Index(i), k.isFor(actions.Index(i))))
		}
	}
	out.Result = answer.Interface()
	return out, metadata, nil
}

// isFor reports whether a call, or an action of a transaction, is for one of the tables.
func (k *keyRenamer) isFor(call reflect.Value) bool {
	for name, field := range call.Fields() {
		switch {
		case name.Name == "TableName":
			return k.hasTable(field.Elem().String())
		case field.Kind() == reflect.Pointer && !field.IsNil() && field.Elem().Kind() == reflect.Struct && k.isFor(field.Elem()):
			return true
		}
	}
	return false
}

// hasTable reports whether k exchanges the names of this table's keys.
func (k *keyRenamer) hasTable(nameOrARN string) bool {
	name, region, account, err := dynamo.TableName(nameOrARN)
	return err == nil && slices.ContainsFunc(k.tables, tableID{name, region, account}.mayEqual)
}

// renameError returns a call's error with hotshard's names, pk and sk, in its items.
func (k *keyRenamer) renameError(call reflect.Value, err error) error {
	if e, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok && k.isFor(call) {
		e.Item = k.renameItem(e.Item)
	}
	if e, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		actions := call.FieldByName("TransactItems")
		for i := range min(len(e.CancellationReasons), actions.Len()) {
			if reason := &e.CancellationReasons[i]; k.isFor(actions.Index(i)) {
				reason.Item = k.renameItem(reason.Item)
			}
		}
	}
	return err
}
