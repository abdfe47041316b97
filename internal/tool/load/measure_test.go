package load

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestQueriesHaveEveryName checks that queries have all names in order, and that each is within its bounds.
func TestQueriesHaveEveryName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringN(1, 100, 512), 0, 250).Draw(t, "names")
		var asked []string
		for query := range counterQueries(names, strong) {
			values, err := url.ParseQuery(query)
			require.NoError(t, err)
			if n := len(values["name"]); n == 0 || n > maxNames || n > 1 && len(query) > maxQuery || values.Get("consistency") != "strong" {
				t.Errorf("a query of %d names and %d bytes: %s", n, len(query), query)
			}
			asked = append(asked, values["name"]...)
		}
		if !slices.Equal(asked, names) {
			t.Errorf("queries of %q, want %q", asked, names)
		}
	})
}

// TestReadingIsOff checks by how much a counter's reads differ from its possible values.
func TestReadingIsOff(t *testing.T) {
	for _, c := range []struct {
		r    reading
		want uint64
	}{
		{reading{eventual: 5, strong: 5, low: 5, high: 5}, 0},
		{reading{eventual: 5, strong: 5, low: 3, high: 6}, 0},
		{reading{eventual: 3, strong: 5, low: 5, high: 5}, 2},
		{reading{eventual: 5, strong: 5, low: 6, high: 7}, 1},
		{reading{eventual: 8, strong: 9, low: 6, high: 7}, 3},
		{reading{eventual: -2, strong: 1, low: 0, high: 0}, 4},
	} {
		if got := c.r.distance(); got != c.want {
			t.Errorf("%+v.distance() = %d, want %d", c.r, got, c.want)
		}
	}
}

func TestCompareEventsFindsDisorderAndDuplicates(t *testing.T) {
	at := time.UnixMilli(1_000).UTC()
	event := func(id string) storedEvent { return storedEvent{ID: id, Time: at, Data: []byte(`{}`)} }
	want := map[identity]sentEvent{}
	for _, id := range []string{"a", "b"} {
		want[identity{id, 1_000}] = sentEvent{state: accepted}
	}
	for name, c := range map[string]struct {
		got  []storedEvent
		want string
	}{
		"right":    {[]storedEvent{event("a"), event("b")}, ""},
		"twice":    {[]storedEvent{event("a"), event("b"), event("b")}, "returned twice"},
		"disorder": {[]storedEvent{event("b"), event("a")}, "out of order"},
	} {
		var texts []string
		compareEvents("e", c.got, want, nil, func(format string, _ ...any) { texts = append(texts, format) })
		if got := strings.Join(texts, "\n"); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
