package calls

import (
	"go/constant"
	"go/types"
	"reflect"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Origins of what could not be followed back, and of nil.
const (
	unknown = "?"
	none    = "nil"
)

// origins are where a value may come from: environment variables by name, texts in
// the code with a quote before them, nil, or unknown.
type origins map[string]bool

// flow follows texts and pointers back to their origins within what is reached. It is blind to
// order and takes a field of a struct type for one variable, whatever the struct.
// A pointer to a text has the text's origins.
type flow struct {
	*reach
	fields    map[*types.Var][]ssa.Value     // what is stored in a field
	variables map[ssa.Value][]ssa.Value      // what is stored in a variable
	arguments map[*ssa.Parameter][]ssa.Value // what is handed over
	captured  map[*ssa.FreeVar][]ssa.Value
}

func (r *reach) flow() *flow {
	f := &flow{
		reach: r, fields: map[*types.Var][]ssa.Value{}, variables: map[ssa.Value][]ssa.Value{},
		arguments: map[*ssa.Parameter][]ssa.Value{}, captured: map[*ssa.FreeVar][]ssa.Value{},
	}
	for function := range r.functions {
		each(function, f.note)
	}
	return f
}

// each calls do for all of a function's instructions.
func each(function *ssa.Function, do func(ssa.Instruction)) {
	for _, block := range function.Blocks {
		for _, instruction := range block.Instrs {
			do(instruction)
		}
	}
}

func (f *flow) note(instruction ssa.Instruction) {
	switch i := instruction.(type) {
	case *ssa.Store:
		if field := fieldOf(i.Addr); field != nil {
			f.fields[field] = append(f.fields[field], i.Val)
		} else {
			f.variables[i.Addr] = append(f.variables[i.Addr], i.Val)
		}
	case *ssa.MakeClosure:
		for n, free := range i.Fn.(*ssa.Function).FreeVars {
			f.captured[free] = append(f.captured[free], i.Bindings[n])
		}
	case ssa.CallInstruction:
		for _, callee := range f.calleesOf(i) {
			f.hand(callee, i.Common())
		}
	}
}

// calleesOf returns what a call may call; calls of variables are not followed.
func (f *flow) calleesOf(site ssa.CallInstruction) []*ssa.Function {
	if callee := site.Common().StaticCallee(); callee != nil {
		return []*ssa.Function{callee}
	}
	return f.callees[site]
}

func (f *flow) hand(callee *ssa.Function, call *ssa.CallCommon) {
	parameters := callee.Params
	if call.IsInvoke() && len(parameters) > 0 {
		parameters = parameters[1:] // the receiver
	}
	for n, p := range parameters {
		if n < len(call.Args) {
			f.arguments[p] = append(f.arguments[p], call.Args[n])
		}
	}
}

// fieldOf returns the field that an address is of, nil for other addresses.
func fieldOf(address ssa.Value) *types.Var {
	if a, ok := address.(*ssa.FieldAddr); ok {
		return structOf(a.X.Type()).Field(a.Field)
	}
	return nil
}

// structOf returns the struct type that t is, or points to.
func structOf(t types.Type) *types.Struct {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, _ := t.Underlying().(*types.Struct)
	return s
}

// trace returns a value's origins.
func (f *flow) trace(v ssa.Value) origins {
	found := origins{}
	f.follow(v, found, map[any]bool{})
	return found
}

func (f *flow) follow(v ssa.Value, found origins, seen map[any]bool) {
	if seen[v] {
		return
	}
	seen[v] = true
	all := func(list ...ssa.Value) {
		for _, next := range list {
			f.follow(next, found, seen)
		}
	}
	switch v := v.(type) {
	case *ssa.Const:
		if v.Value != nil && v.Value.Kind() == constant.String {
			found[`"`+constant.StringVal(v.Value)] = true
		} else if v.IsNil() {
			found[none] = true
		}
	case *ssa.FieldAddr:
		f.followField(structOf(v.X.Type()), v.Field, found, seen)
	case *ssa.Field:
		f.followField(structOf(v.X.Type()), v.Field, found, seen)
	case *ssa.Alloc:
		if structOf(v.Type()) != nil {
			found[unknown] = true // something, and no text
		}
		all(f.variables[v]...)
	case *ssa.Global:
		all(f.variables[v]...)
	case *ssa.UnOp:
		all(v.X)
	case *ssa.BinOp: // a prefix and a name
		all(v.X, v.Y)
	case *ssa.Phi:
		all(v.Edges...)
	case *ssa.Parameter:
		all(f.arguments[v]...)
	case *ssa.FreeVar:
		all(f.captured[v]...)
		all(f.variables[v]...)
	case *ssa.ChangeType:
		all(v.X)
	case *ssa.Call:
		f.followCall(v, 0, found, seen)
	case *ssa.Extract:
		if call, ok := v.Tuple.(*ssa.Call); ok {
			f.followCall(call, v.Index, found, seen)
			return
		}
		found[unknown] = true
	default:
		found[unknown] = true
	}
}

// followField ends at a field that the environment gives, unless code stores in it.
func (f *flow) followField(of *types.Struct, n int, found origins, seen map[any]bool) {
	if name, _, _ := strings.Cut(reflect.StructTag(of.Tag(n)).Get("env"), ","); name != "" {
		found[name] = true
	}
	for _, stored := range f.fields[of.Field(n)] {
		f.follow(stored, found, seen)
	}
}

// followCall goes on with what a call's callees return. Of others' functions only
// those are known that hand a text back as it is.
func (f *flow) followCall(call *ssa.Call, result int, found origins, seen map[any]bool) {
	for _, callee := range f.calleesOf(call) {
		if callee.Blocks == nil {
			if p := callee.Package(); strings.HasPrefix(callee.Name(), "String") && p != nil && strings.HasSuffix(p.Pkg.Path(), "aws-sdk-go-v2/aws") {
				f.follow(call.Common().Args[0], found, seen)
			} else {
				found[unknown] = true
			}
			continue
		}
		each(callee, func(i ssa.Instruction) {
			if r, ok := i.(*ssa.Return); ok {
				f.follow(r.Results[result], found, seen)
			}
		})
	}
}
