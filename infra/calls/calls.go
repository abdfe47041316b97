package calls

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Call is something that a function's code can ask of AWS.
type Call struct {
	Service string // as the SDK's package is called, such as dynamodb
	Action  string // as IAM calls it, such as PutItem
	Table   string // the environment variable that names the table; "" where there is none
	Index   string // of the table; "" for the table itself
}

// Of returns the calls that the function with its main in the folder, such as
// functions/query, can make, in order and each once. What the analysis can't tell is
// an error: an operation without a table, or a table that comes from nowhere.
//
// A transaction is not an action to IAM; its writes are.
func (c *Code) Of(folder string) ([]Call, error) {
	main, ok := c.mains[folder]
	if !ok {
		return nil, fmt.Errorf("there is no main in %s", folder)
	}
	return c.find(folder, false, append(c.inits(main), main.Func("main"))...)
}

func (c *Code) find(folder string, byName bool, roots ...*ssa.Function) ([]Call, error) {
	r := c.reach(roots...)
	found := &finder{flow: r.flow(), byName: byName, asked: map[string]bool{}, calls: map[Call]bool{}, requests: map[ssa.Value]*request{}}
	for function := range r.functions {
		if function.Package() == nil || c.own(function.Package().Pkg) {
			each(function, found.look)
		}
	}
	return found.result(folder)
}

// finder gathers calls.
type finder struct {
	*flow
	byName   bool            // the code names the tables
	asked    map[string]bool // "dynamodb PutItem", as called
	calls    map[Call]bool
	requests map[ssa.Value]*request
}

// request is a struct of the SDK that names a table, and perhaps an index.
type request struct {
	action          string
	tables, indexes origins
	at              token.Pos // where one of them is stored
	elsewhere       bool      // is not made where they are stored, so that there may be others
}

const sdk = "github.com/aws/aws-sdk-go-v2/service/"

func (f *finder) look(instruction ssa.Instruction) {
	switch i := instruction.(type) {
	case *ssa.Store:
		f.lookAtField(i)
	case *ssa.MapUpdate:
		if action, ok := batchOf(i.Map.Type()); ok {
			f.name(action, f.trace(i.Key), origins{})
		}
	case ssa.CallInstruction:
		if service, operation, ok := operationOf(i.Common()); ok {
			f.asked[service+" "+operation] = true
		}
	}
}

// operationOf tells a call of an SDK client's method, through whatever interface,
// by its input, and that of a paginator's constructor by its name.
func operationOf(call *ssa.CallCommon) (service, operation string, ok bool) {
	if callee := call.StaticCallee(); callee != nil && callee.Package() != nil {
		if service, ok := strings.CutPrefix(callee.Package().Pkg.Path(), sdk); ok {
			name, isNew := strings.CutPrefix(callee.Name(), "New")
			name, isPaginator := strings.CutSuffix(name, "Paginator")
			if isNew && isPaginator {
				return service, name, true
			}
		}
	}
	parameters := call.Signature().Params()
	for p := range parameters.Variables() {
		service, name, _ := sdkType(p.Type())
		if operation, isInput := strings.CutSuffix(name, "Input"); isInput && !strings.Contains(service, "/") {
			return service, operation, true
		}
	}
	return "", "", false
}

// sdkType returns the service and name of a type of the SDK, or of what it points to.
func sdkType(t types.Type) (service, name string, ok bool) {
	if p, isPointer := t.Underlying().(*types.Pointer); isPointer {
		t = p.Elem()
	}
	named, isNamed := types.Unalias(t).(*types.Named)
	if !isNamed || named.Obj().Pkg() == nil {
		return "", "", false
	}
	service, ok = strings.CutPrefix(named.Obj().Pkg().Path(), sdk)
	return service, named.Obj().Name(), ok
}

// actions are what IAM calls the parts of a transaction.
var actions = map[string]string{"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem", "Get": "GetItem"}

// lookAtField notes the tables and indexes that are stored in requests.
func (f *finder) lookAtField(store *ssa.Store) {
	field := fieldOf(store.Addr)
	if field == nil || field.Name() != "TableName" && field.Name() != "IndexName" {
		return
	}
	of := store.Addr.(*ssa.FieldAddr).X
	service, name, _ := sdkType(of.Type())
	action, isInput := strings.CutSuffix(name, "Input")
	if service == "dynamodb/types" {
		action, isInput = actions[name], actions[name] != ""
	}
	if !isInput {
		return
	}
	r := f.requests[of]
	if r == nil {
		_, isMade := of.(*ssa.Alloc)
		r = &request{action: action, tables: origins{}, indexes: origins{}, at: store.Pos(), elsewhere: !isMade}
		f.requests[of] = r
	}
	if field.Name() == "TableName" {
		maps.Copy(r.tables, f.trace(store.Val))
		return
	}
	maps.Copy(r.indexes, f.trace(store.Val))
	if !always(store, of) {
		r.indexes[`"`] = true // the table itself is asked as well
	}
}

// always tells that a struct has what is stored whenever it is used: it is stored in
// the block in which the struct is made, before anything but its fields is touched.
func always(store *ssa.Store, of ssa.Value) bool {
	made, ok := of.(*ssa.Alloc)
	if !ok || made.Block() != store.Block() {
		return false
	}
	for _, i := range made.Block().Instrs {
		if i == store {
			return true
		}
		if _, isField := i.(*ssa.FieldAddr); !isField && uses(i, of) {
			return false
		}
	}
	return false
}

func uses(i ssa.Instruction, v ssa.Value) bool {
	return slices.ContainsFunc(i.Operands(nil), func(operand *ssa.Value) bool { return *operand == v })
}

// batchOf tells the maps by table that batches are made of.
func batchOf(t types.Type) (action string, ok bool) {
	m, isMap := t.Underlying().(*types.Map)
	if !isMap {
		return "", false
	}
	elem := m.Elem()
	if list, isList := elem.Underlying().(*types.Slice); isList {
		elem = list.Elem()
	}
	_, name, _ := sdkType(elem)
	action, ok = map[string]string{"KeysAndAttributes": "BatchGetItem", "WriteRequest": "BatchWriteItem"}[name]
	return action, ok
}

// name adds the calls of an action on tables or their indexes.
func (f *finder) name(action string, tables, indexes origins) {
	if len(indexes) == 0 {
		indexes = origins{`"`: true}
	}
	for table := range tables {
		for index := range indexes {
			if f.byName {
				table = strings.TrimPrefix(table, `"`)
			}
			f.calls[Call{"dynamodb", action, table, strings.TrimPrefix(index, `"`)}] = true
		}
	}
}

// byParts are operations that name their tables in parts, under other actions.
var byParts = map[string][]string{"TransactWriteItems": {"PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"}, "TransactGetItems": {"GetItem"}}

// tableless is the operation on tables that names none.
const tableless = "ListTables"

func (f *finder) result(folder string) ([]Call, error) {
	for _, r := range f.requests {
		f.name(r.action, r.tables, r.indexes)
	}
	var list []Call
	for call := range f.calls {
		if f.canBeAsked(call) {
			list = append(list, call)
		}
	}
	for asked := range f.asked {
		service, operation, _ := strings.Cut(asked, " ")
		if service != "dynamodb" || operation == tableless {
			list = append(list, Call{Service: service, Action: operation})
		}
	}
	slices.SortFunc(list, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Table, b.Table), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Action, b.Action))
	})
	return list, f.doubt(folder, list)
}

// canBeAsked tells whether some reached code sends what was made.
func (f *finder) canBeAsked(call Call) bool {
	if f.asked["dynamodb "+call.Action] {
		return true
	}
	for whole, parts := range byParts {
		if f.asked["dynamodb "+whole] && slices.Contains(parts, call.Action) {
			return true
		}
	}
	return false
}

// doubt says what the analysis could not tell.
func (f *finder) doubt(folder string, list []Call) error {
	for _, r := range f.requests {
		if r.elsewhere || len(r.tables) == 0 {
			return fmt.Errorf("%s: the table or index of a %s is stored at %v, where it is not made: build it in one place",
				folder, r.action, f.code.program.Fset.Position(r.at))
		}
	}
	for _, call := range list {
		if call.Service == "dynamodb" && (call.Table == unknown || strings.HasPrefix(call.Table, `"`) || call.Index == unknown) {
			return fmt.Errorf("%s: %s is called for the table %s, index %q, which come from no setting", folder, call.Action, call.Table, call.Index)
		}
	}
	for _, asked := range slices.Sorted(maps.Keys(f.asked)) {
		service, operation, _ := strings.Cut(asked, " ")
		names := append(slices.Clone(byParts[operation]), operation)
		if service == "dynamodb" && !slices.ContainsFunc(list, func(c Call) bool { return slices.Contains(names, c.Action) }) {
			return fmt.Errorf("%s: %s is called, and no table is known for it", folder, operation)
		}
	}
	return nil
}
