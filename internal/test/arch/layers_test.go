package arch

import (
	"slices"
	"strings"
	"testing"
)

// layer returns the index of a package's layer in layers, or -1.
func layer(importPath string) int {
	return slices.IndexFunc(layers, func(patterns []string) bool { return matchAny(patterns, importPath, nil) })
}

// upward returns a package's imports from higher layers.
func upward(p *source) (faults []string) {
	for _, to := range p.Imports {
		if strings.HasPrefix(to, module+"/") && layer(to) > layer(p.ImportPath) {
			faults = append(faults, p.ImportPath+" imports "+to)
		}
	}
	return faults
}

// TestNoImportPointsUp checks that each package belongs to a layer and imports no package of a higher one.
func TestNoImportPointsUp(t *testing.T) {
	packages, _ := list(t)
	for i := range packages {
		if layer(packages[i].ImportPath) < 0 {
			t.Errorf("%s belongs to no layer: add it to layers", packages[i].ImportPath)
		}
		for _, fault := range upward(&packages[i]) {
			t.Errorf("%s, which belongs to a higher layer", fault)
		}
	}
}

// unused returns the packages under internal that no other package imports, tests included.
// Packages with only tests and a doc.go are exempt.
func unused(packages []source) (found []string) {
	imported := map[string]bool{}
	for _, p := range packages {
		for _, to := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			imported[to] = imported[to] || to != p.ImportPath
		}
	}
	for _, p := range packages {
		if strings.HasPrefix(p.ImportPath, module+"/internal/") && p.Name != "main" && !slices.Equal(p.GoFiles, []string{"doc.go"}) && !imported[p.ImportPath] {
			found = append(found, p.ImportPath)
		}
	}
	return found
}

// TestEveryPackageIsImported checks that another package imports each package below internal.
func TestEveryPackageIsImported(t *testing.T) {
	packages, _ := list(t)
	for _, p := range unused(packages) {
		t.Errorf("%s is imported by nothing: delete it", p)
	}
}
