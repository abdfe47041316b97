package console

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/require"
)

var update = flag.Bool("update", false, "write kinds.ts from the table of kinds")

const kindsFile = "web/src/kinds.ts"

// TestPageKnowsAllKinds compares the page's kinds.ts with the table of kinds. To write it, run
// go test ./internal/tool/console -run TestPageKnowsAllKinds -update, then make console.
func TestPageKnowsAllKinds(t *testing.T) {
	var want strings.Builder
	want.WriteString("// Written by TestPageKnowsAllKinds from internal/base/schema. Don't edit.\n\n")
	want.WriteString("/** kinds has, for each kind of base key, how its partition keys begin and the index that has its write shards. */\n")
	want.WriteString("export const kinds: Record<string, { prefix: string; index: string }> = {\n")
	for _, k := range schema.Kinds() {
		fmt.Fprintf(&want, "  %s: { prefix: %q, index: %q },\n", k, schema.TraitsOf(k).Prefix, schema.TraitsOf(k).Index)
	}
	want.WriteString("};\n")
	if *update {
		require.NoError(t, os.WriteFile(kindsFile, []byte(want.String()), 0o644))
	}
	if got, err := os.ReadFile(kindsFile); err != nil || string(got) != want.String() {
		t.Errorf("%s differs from the table of kinds (%v): run this test with -update, then make console", kindsFile, err)
	}
}
