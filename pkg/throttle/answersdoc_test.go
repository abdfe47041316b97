package throttle

import (
	"os"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// TestEachLimitHasOneAnswer checks that each limit of a billing mode, on a table or an index, has one answer, and that
// docs/throttle.md has it.
func TestEachLimitHasOneAnswer(t *testing.T) {
	page, err := os.ReadFile("../../docs/throttle.md")
	require.NoError(t, err)
	type limit struct {
		onDemand bool
		cause    partitions.Cause
	}
	for limit, row := range map[limit]string{
		{false, partitions.KeyRange}: "| provisioned | a partition's", {false, partitions.Provisioned}: "| provisioned | provisioned throughput",
		{true, partitions.KeyRange}: "| on-demand | a partition's", {true, partitions.MaxOnDemand}: "| on-demand | on-demand maximum", {true, partitions.Account}: "| on-demand | account's quota",
	} {
		for index, suffix := range map[string]string{"": " | ", "i": ", index | "} {
			space := &partitions.Space{Resource: partitions.Resource{Table: "t", Index: index, OnDemand: limit.onDemand}}
			d := partitions.Denial{Charge: partitions.Charge{Place: partitions.Place{Space: space}}, Cause: limit.cause}
			n := 0
			for _, a := range answers {
				if a.appliesTo(d) {
					n++
					checkDocumented(t, string(page), row+suffix, a)
				}
			}
			if n != 1 {
				t.Errorf("%+v, index %q: %d answers", limit, index, n)
			}
		}
	}
}

// checkDocumented checks the line of a page that begins with row, and the lines with its exception and its text.
func checkDocumented(t *testing.T, page, row string, a answer) {
	t.Helper()
	_, rest, _ := strings.Cut(page, "\n"+row)
	columns := strings.Split(rest, "|")
	exception := "\n| `" + a.exception.name + "` | `" + a.exception.namespace + "` [errors] | `" + a.exception.reasons + "`"
	if a.exception == throttlingException {
		exception = strings.Replace(exception, "[errors]", "[dynein]", 1)
	}
	if len(columns) < 3 || !strings.HasPrefix(columns[0], "`"+a.exception.name+"`") || !strings.HasPrefix(columns[2], " `"+a.code+"`") ||
		!strings.Contains(page, "\n- "+columns[1][1:2]+": "+a.text+"\n") || !strings.Contains(page, exception) {
		t.Errorf("docs/throttle.md has not %s%+v", row, a)
	}
}
