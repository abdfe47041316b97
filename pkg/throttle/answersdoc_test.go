package throttle

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

var writeDocs = flag.Bool("update", false, "write the tables of answers in docs/throttle.md")

const (
	answersPage  = "../../docs/throttle.md"
	answersBegin = "<!-- generated from pkg/throttle/answers.go -->\n"
	answersEnd   = "<!-- end -->\n"
)

// TestAnswersAreDocumented checks that docs/throttle.md has the tables of answers. To write them, run
// go test ./pkg/throttle -run TestAnswersAreDocumented -update.
func TestAnswersAreDocumented(t *testing.T) {
	content, err := os.ReadFile(answersPage)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(content), answersBegin)
	_, after, ended := strings.Cut(rest, answersEnd)
	if !ok || !ended {
		t.Fatalf("%s lacks the lines around the tables", answersPage)
	}
	want := before + answersBegin + answersText() + answersEnd + after
	if *writeDocs {
		require.NoError(t, os.WriteFile(answersPage, []byte(want), 0o600))
	} else if string(content) != want {
		t.Errorf("%s differs from the answers in the code: run this test with -update", answersPage)
	}
}

// answersText returns the tables of answers.
func answersText() string {
	var b strings.Builder
	cited := map[string]bool{}
	cite := func(what, from string) string {
		if from == "" {
			return what + " (guess)"
		}
		cited[from] = true
		return fmt.Sprintf("%s [%s]", what, from)
	}
	var texts []string
	letter := func(text string) string {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		return string(rune('A' + slices.Index(texts, text)))
	}
	b.WriteString("\n| billing | limit | exception | text | code in a transaction | code of a statement |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, a := range answers {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", billing(a.onDemand), limitName(a), cite("`"+a.exception.name+"`", a.exceptionFrom),
			cite(letter(a.text), a.textFrom), cite("`"+a.code+"`", a.codeFrom), cite("`"+a.statement+"`", a.statementFrom))
	}
	b.WriteString("\n| exception | begin of `__type` | member with the reasons |\n| --- | --- | --- |\n")
	for _, x := range []exception{provisionedExceeded, requestLimitExceeded, throttlingException} {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", x.name, cite("`"+x.namespace+"`", x.namespaceFrom), cite("`"+x.reasons+"`", x.reasonsFrom))
	}
	b.WriteString("\n| call | answer |\n| --- | --- |\n")
	for _, c := range callAnswers {
		fmt.Fprintf(&b, "| %s | %s |\n", c.operations, cite(c.text, c.from))
	}
	b.WriteString("\n")
	for i, text := range texts {
		fmt.Fprintf(&b, "- %c: %s\n", 'A'+i, text)
	}
	b.WriteString("\n")
	for _, name := range slices.Sorted(maps.Keys(cited)) {
		fmt.Fprintf(&b, "[%s]: %s\n", name, sources[name])
	}
	return b.String()
}

func billing(onDemand bool) string {
	if onDemand {
		return "on-demand"
	}
	return "provisioned"
}

func limitName(a answer) string {
	name := map[partitions.Cause]string{
		partitions.KeyRange: "a partition's", partitions.Provisioned: "provisioned throughput",
		partitions.MaxOnDemand: "on-demand maximum", partitions.Account: "account's quota",
	}[a.cause]
	if a.index {
		return name + ", index"
	}
	return name
}

// TestEverySourceIsUsed checks that each answer's sources exist, and that there are no others.
func TestEverySourceIsUsed(t *testing.T) {
	text := answersText()
	for name, url := range sources {
		if !strings.Contains(text, "["+name+"]: "+url+"\n") {
			t.Errorf("no answer has the source %s", name)
		}
	}
	if strings.Contains(text, "]: \n") {
		t.Error("an answer has a source without an address")
	}
}

// TestEachLimitHasOneAnswer checks that no limit of a billing mode, on a table or an index, lacks an answer or has two.
func TestEachLimitHasOneAnswer(t *testing.T) {
	for onDemand, causes := range map[bool][]partitions.Cause{false: {partitions.KeyRange, partitions.Provisioned}, true: {partitions.KeyRange, partitions.MaxOnDemand, partitions.Account}} {
		for _, cause := range causes {
			for _, index := range []string{"", "i"} {
				space := &partitions.Space{Resource: partitions.Resource{Table: "t", Index: index, OnDemand: onDemand}}
				d := partitions.Denial{Charge: partitions.Charge{Place: partitions.Place{Space: space}}, Cause: cause}
				n := 0
				for _, a := range answers {
					if a.is(d) {
						n++
					}
				}
				if n != 1 {
					t.Errorf("%s, %s, index %q: %d answers", billing(onDemand), cause, index, n)
				}
			}
		}
	}
}
