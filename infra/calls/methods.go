package calls

import (
	"fmt"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// OfMethods is Of for a program of several commands: the calls that these methods of types
// in the folder's main package, such as AuditCmd.Run, can make. No environment names its
// tables, but the code does, behind a prefix: Call{Table: "items"} is of hotshard-items.
func (c *Code) OfMethods(folder string, methods ...string) ([]Call, error) {
	main, ok := c.mains[folder]
	if !ok {
		return nil, fmt.Errorf("there is no main in %s", folder)
	}
	roots := c.inits(main)
	for _, m := range methods {
		f := c.method(main, m)
		if f == nil {
			return nil, fmt.Errorf("%s has no method %s", folder, m)
		}
		roots = append(roots, f)
	}
	return c.find(folder, true, roots...)
}

func (c *Code) method(main *ssa.Package, typeAndName string) *ssa.Function {
	of, name, _ := strings.Cut(typeAndName, ".")
	t := main.Type(of)
	if t == nil {
		return nil
	}
	selection := c.program.MethodSets.MethodSet(types.NewPointer(t.Type())).Lookup(main.Pkg, name)
	if selection == nil {
		return nil
	}
	return c.program.MethodValue(selection)
}
