// Package arch tests the repository's rules. Rules of imports are data, which a test compares
// with `go list -deps`:
//
//	for _, rule := range rules {
//		faults := rule.check(packages, standard) // "internal/ingest imports internal/query"
//	}
//
// Other tests check that only registries depend on a kind of key, that the library exports no internal types, and that
// docs cite existing tests, files and headings. Test files may import anything.
package arch
