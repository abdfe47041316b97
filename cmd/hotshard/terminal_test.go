package main

import (
	"strings"
	"testing"

	pretty "github.com/jedib0t/go-pretty/v6/text"
)

// TestControlCharactersAreVisible checks that no text can act on the terminal or reverse the direction of writing.
func TestControlCharactersAreVisible(t *testing.T) {
	for text, want := range map[string]string{
		"page/home é 日本 #1":          "page/home é 日本 #1",
		"esc\x1b[31mRED":             `esc\x1b[31mRED`,
		"\x1b]0;title\x07":           `\x1b]0;title\a`,
		"a\nb\tc\x7f":                `a\nb\tc\x7f`,
		"\u009b31m":                  `\u009b31m`,
		"abc\u202etxt.exe":           `abc\u202etxt.exe`,
		"\u2066isolated\u2069\u200f": `\u2066isolated\u2069\u200f`,
		"bad\xff\xfeutf8\ufffd":      "bad\\xff\\xfeutf8\ufffd",
	} {
		if got := visible(text); got != want {
			t.Errorf("visible(%q) = %q, want %q", text, got, want)
		}
	}
	if got := visibleLines("one\x1b\ntwo"); got != "one\\x1b\ntwo" {
		t.Errorf("visibleLines = %q, want the line end unchanged", got)
	}
}

// TestLongNamesAreCut checks that cut names keep their begin and their end, and that a table's cells wrap without loss.
func TestLongNamesAreCut(t *testing.T) {
	for _, long := range []string{"begin" + strings.Repeat("x", 502) + "end17", strings.Repeat("日本", 80) + "end17", "begin" + strings.Repeat("\u202e", 100) + "end17"} {
		got := cutMiddle(visible(long), nameWidth)
		if w := pretty.StringWidth(got); w > nameWidth || w < nameWidth-2 || !strings.HasSuffix(got, "end17") || !strings.Contains(got, "…") || got[:3] != long[:3] {
			t.Errorf("%q has %d columns, want at most %d with the begin and the end", got, w, nameWidth)
		}
	}
	table := newTable("name", "why")
	table.Row(nameCell(strings.Repeat("n", 512)), strings.Repeat("why ", 200))
	for line := range strings.SplitSeq(table.Render(), "\n") {
		if w := pretty.StringWidth(line); w > nameWidth+cellWidth+8 {
			t.Errorf("a line of %d columns, want at most %d", w, nameWidth+cellWidth+8)
		}
	}
	if n := strings.Count(table.Render(), "why"); n != 200 {
		t.Errorf("the table has %d of 200 words", n)
	}
}
