package arch

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// internalNames returns the exported names of a package whose declaration names a type of an internal package: in a
// signature, an exported field, an embedded type or a type argument.
func internalNames(p *types.Package) (faults []string) {
	report := func(name string, t types.Type) {
		if text := types.TypeString(t, nil); strings.Contains(text, "/internal/") {
			faults = append(faults, fmt.Sprintf("%s.%s names %s", p.Path(), name, text))
		}
	}
	for _, name := range p.Scope().Names() {
		object := p.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		if declared, ok := object.(*types.TypeName); ok {
			reportType(declared, report)
			continue
		}
		report(name, object.Type())
	}
	return faults
}

// reportType reports the fields, embedded types and methods of a declared type, including promoted methods.
func reportType(declared *types.TypeName, report func(name string, t types.Type)) {
	if alias, ok := declared.Type().(*types.Alias); ok {
		report(declared.Name(), alias.Rhs())
		return
	}
	methods := types.NewMethodSet(types.NewPointer(declared.Type()))
	switch t := declared.Type().Underlying().(type) {
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				report(declared.Name()+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		methods = types.NewMethodSet(t)
		for e := range t.EmbeddedTypes() {
			report(declared.Name(), e)
		}
	default:
		report(declared.Name(), t)
	}
	for m := range methods.Methods() {
		if m.Obj().Exported() {
			report(declared.Name()+"."+m.Obj().Name(), m.Obj().Type())
		}
	}
}

// exports returns an importer of the library and its dependencies, and the library's import paths.
func exports(t *testing.T) (imports types.Importer, library []string) {
	t.Helper()
	out := goList(t, "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "./pkg/...")
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		files[path] = file
		if strings.HasPrefix(path, module+"/pkg/") && !strings.Contains(path, "/internal/") {
			library = append(library, path)
		}
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }), library
}

// TestLibraryExportsNoInternalTypes checks that no exported name of the library has a type that users can't name.
func TestLibraryExportsNoInternalTypes(t *testing.T) {
	imports, library := exports(t)
	for _, path := range library {
		p, err := imports.Import(path)
		require.NoError(t, err)
		for _, fault := range internalNames(p) {
			t.Error(fault)
		}
	}
}
