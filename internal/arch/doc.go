// Package arch holds the rules of who may import whom, as data, and a test that
// goes over `go list -deps` with them:
//
//	for _, rule := range rules {
//		faults := rule.check(packages) // "internal/ingest imports internal/query"
//	}
//
// Imports run one way: cmd and functions use the domain packages (ingest, query,
// hotkey, rollup), which use the leaves. Test files are exempt.
//
// Another rule is for test files alone: which may look at the machine's clock, and for what.
package arch
