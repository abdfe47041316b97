package calls

import (
	"errors"
	"fmt"
	"go/types"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// Code is a module's own code, ready to be looked through. That of others is known
// by its types only.
type Code struct {
	program *ssa.Program
	mains   map[string]*ssa.Package // by folder
	module  string
}

const loadMode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule

// Load reads the module whose root is dir: the functions, what they are made of, and more
// folders, such as cmd/hotshard. An overlay replaces files, by absolute path, as tests of
// the analysis do. Code that does not compile is an error.
func Load(dir string, overlay map[string][]byte, more ...string) (*Code, error) {
	folders := []string{"./functions/...", "./internal/...", "./pkg/..."}
	for _, folder := range more {
		folders = append(folders, "./"+folder)
	}
	list, err := packages.Load(&packages.Config{Mode: loadMode, Dir: dir, Overlay: overlay}, folders...)
	if err != nil {
		return nil, fmt.Errorf("loading the module at %s: %w", dir, err)
	}
	var faults []error
	for _, p := range list {
		for _, fault := range p.Errors {
			faults = append(faults, fault)
		}
	}
	if len(list) == 0 || list[0].Module == nil {
		faults = append(faults, errors.New("there is no module"))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("loading the module at %s: %w", dir, err)
	}
	code := &Code{module: list[0].Module.Path, mains: map[string]*ssa.Package{}}
	var built []*ssa.Package
	code.program, built = ssautil.Packages(list, ssa.InstantiateGenerics)
	code.program.Build()
	for _, p := range built {
		if p != nil && p.Pkg.Name() == "main" {
			code.mains[strings.TrimPrefix(p.Pkg.Path(), code.module+"/")] = p
		}
	}
	return code, nil
}

// own tells the module's packages from others.
func (c *Code) own(p *types.Package) bool {
	return p != nil && (p.Path() == c.module || strings.HasPrefix(p.Path(), c.module+"/"))
}

// inits returns the initializers of a package and of the module's that it imports.
func (c *Code) inits(p *ssa.Package) []*ssa.Function {
	var list []*ssa.Function
	seen := map[*types.Package]bool{}
	var visit func(*types.Package)
	visit = func(t *types.Package) {
		if seen[t] || !c.own(t) {
			return
		}
		seen[t] = true
		list = append(list, c.program.Package(t).Func("init"))
		for _, imported := range t.Imports() {
			visit(imported)
		}
	}
	visit(p.Pkg)
	return list
}
