package calls

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// reach is what can be reached from some functions, by rapid type analysis with two
// changes: a function that is mentioned is taken for called, so that nothing need be
// known of who calls it; and a type that becomes an interface of others' code has
// all its exported methods called.
type reach struct {
	code      *Code
	functions map[*ssa.Function]bool
	queue     []*ssa.Function
	dynamic   []types.Type // types that became an interface
	known     map[types.Type]bool
	invoked   []invocation
	exposed   []*types.Interface                      // interfaces of ours that became others'
	callees   map[ssa.CallInstruction][]*ssa.Function // of calls of interfaces' methods
	bound     []*ssa.MakeClosure                      // methods as values, not yet taken for called
}

// invocation is a call of an interface's method.
type invocation struct {
	site   ssa.CallInstruction
	of     *types.Interface
	method *types.Func
}

func (c *Code) reach(roots ...*ssa.Function) *reach {
	r := &reach{code: c, functions: map[*ssa.Function]bool{}, known: map[types.Type]bool{}, callees: map[ssa.CallInstruction][]*ssa.Function{}}
	for _, root := range roots {
		r.add(root)
	}
	for len(r.queue) > 0 {
		f := r.queue[len(r.queue)-1]
		r.queue = r.queue[:len(r.queue)-1]
		r.walk(f)
		if len(r.queue) == 0 {
			r.bind()
		}
	}
	return r
}

// bind takes methods as values, such as s.put, for called, but those of a receiver
// that can only be nil: a nil service serves to document its calls.
func (r *reach) bind() {
	flow := r.flow()
	r.bound = slices.DeleteFunc(r.bound, func(c *ssa.MakeClosure) bool {
		if receiver := flow.trace(c.Bindings[0]); len(receiver) == 1 && receiver[none] {
			return false
		}
		r.add(c.Fn.(*ssa.Function))
		return true
	})
}

func (r *reach) add(f *ssa.Function) {
	if f != nil && !r.functions[f] {
		r.functions[f] = true
		r.queue = append(r.queue, f)
	}
}

func (r *reach) walk(f *ssa.Function) {
	for _, block := range f.Blocks {
		for _, instruction := range block.Instrs {
			if c, ok := instruction.(*ssa.MakeClosure); ok && strings.HasPrefix(c.Fn.(*ssa.Function).Synthetic, "bound method") {
				r.bound = append(r.bound, c)
				continue
			}
			for _, operand := range instruction.Operands(nil) {
				if mentioned, ok := (*operand).(*ssa.Function); ok {
					r.add(mentioned)
				}
			}
			switch i := instruction.(type) {
			case *ssa.MakeInterface:
				r.becomes(i.X.Type(), i.Type())
			case *ssa.ChangeInterface:
				r.changes(i)
			case ssa.CallInstruction:
				if common := i.Common(); common.IsInvoke() {
					r.invoke(invocation{i, common.Value.Type().Underlying().(*types.Interface), common.Method})
				}
			}
		}
	}
}

// becomes notes that a concrete type is made an interface.
func (r *reach) becomes(concrete, iface types.Type) {
	if !r.known[concrete] {
		r.known[concrete] = true
		r.dynamic = append(r.dynamic, concrete)
		for _, i := range r.invoked {
			r.resolve(i, concrete)
		}
	}
	if !r.ownInterface(iface) {
		r.expose(concrete)
		return
	}
	for _, of := range r.exposed {
		if types.Implements(concrete, of) {
			r.expose(concrete)
		}
	}
}

// changes notes that an interface of ours becomes one of others.
func (r *reach) changes(i *ssa.ChangeInterface) {
	from, ok := i.X.Type().Underlying().(*types.Interface)
	if !ok || r.ownInterface(i.Type()) {
		return
	}
	r.exposed = append(r.exposed, from)
	for _, concrete := range r.dynamic {
		if types.Implements(concrete, from) {
			r.expose(concrete)
		}
	}
}

func (r *reach) ownInterface(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && r.code.own(named.Obj().Pkg())
}

// expose takes all exported methods of a type for called.
func (r *reach) expose(concrete types.Type) {
	methods := r.code.program.MethodSets.MethodSet(concrete)
	for at := range methods.Len() {
		if m := methods.At(at); m.Obj().Exported() {
			r.add(r.code.program.MethodValue(m))
		}
	}
}

func (r *reach) invoke(i invocation) {
	r.invoked = append(r.invoked, i)
	for _, concrete := range r.dynamic {
		r.resolve(i, concrete)
	}
}

func (r *reach) resolve(i invocation, concrete types.Type) {
	if !types.Implements(concrete, i.of) {
		return
	}
	if f := r.code.program.LookupMethod(concrete, i.method.Pkg(), i.method.Name()); f != nil {
		r.callees[i.site] = append(r.callees[i.site], f)
		r.add(f)
	}
}
