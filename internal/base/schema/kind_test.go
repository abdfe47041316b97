package schema

import (
	"slices"
	"strings"
	"testing"
)

// TestKindsAreDistinct checks that no two kinds share a name, a prefix or a form of summary, and that each kind's traits
// agree.
func TestKindsAreDistinct(t *testing.T) {
	for i, a := range traits {
		if a.Kind == "" || a.Prefix == "" || TraitsOf(a.Kind).Prefix != a.Prefix {
			t.Errorf("%+v has no name, no prefix, or a name that another kind has", a)
		}
		if !slices.Contains(StreamTables(), a.Table) {
			t.Errorf("%s has the table %q, which does not exist", a.Kind, a.Table)
		}
		if k, rest, ok := CutKind(a.Prefix + "x#1"); k != a.Kind || rest != "x#1" || !ok {
			t.Errorf("%sx#1 is parsed as %q of %q", a.Prefix, rest, k)
		}
		for j, b := range traits {
			if i != j && strings.HasPrefix(a.Prefix, b.Prefix) {
				t.Errorf("the prefixes of %s and %s overlap", a.Kind, b.Kind)
			}
			// The keys of summaries have no kind: see SummaryKey and EventTarget in schema.
			if i != j && a.Summary != NoSummary && a.Summary == b.Summary {
				t.Errorf("%s and %s share a form of summary, whose keys would collide", a.Kind, b.Kind)
			}
		}
		if a.Placement == TimedPlacement && a.Timeless {
			t.Errorf("%s is timeless, but its writes are placed by their time", a.Kind)
		}
		if (a.Placement == IndexedPlacement) != a.Indexed() {
			t.Errorf("%s has placement %d and index %q", a.Kind, a.Placement, a.Index)
		}
	}
}

// TestNoKind checks that an unknown name has no traits, and other keys no kind.
func TestNoKind(t *testing.T) {
	if got := TraitsOf("none"); got.Kind != "" || got.Summary != NoSummary {
		t.Errorf("an unknown kind has the traits %+v", got)
	}
	for _, key := range []string{"", "C", "c#x", "K#2026"} {
		if k, rest, ok := CutKind(key); ok || k != "" || rest != key {
			t.Errorf("%q is parsed as %q of %q, want no kind", key, rest, k)
		}
	}
}
