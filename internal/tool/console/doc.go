// Package console serves the heat map's page at /, beside the API, or writes it as one file with its data inside. Its
// script is TypeScript in web. The bundle in dist is committed, so that go build needs no Node. make console writes dist,
// and web/src/types.ts from the Go types that the page reads.
package console
