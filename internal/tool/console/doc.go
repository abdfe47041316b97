// Package console is the page that shows the heat: served at / beside the API, and as the
// one file that hotshard report writes. Its script is TypeScript in web; dist is what that is
// bundled into, and is committed, so that go build needs no Node. make console makes
// it again, and web/src/types.ts from the Go types that the page reads.
package console
