package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	pretty "github.com/jedib0t/go-pretty/v6/text"
)

// Widths of a table's cells, in columns of the terminal.
const (
	nameWidth = 60  // longer names are cut
	cellWidth = 100 // longer text of another kind is wrapped
)

// nameCell is a key's name in a cell, which is cut if it is too wide. JSON output has the whole name.
type nameCell string

// newTable returns a table that escapes its cells with [visible].
func newTable(headers ...any) *textTable {
	t := &textTable{table.NewWriter()}
	t.SetStyle(table.StyleLight)
	if len(headers) > 0 {
		t.AppendHeader(cells(headers))
	}
	return t
}

// textTable is a table of text.
type textTable struct{ table.Writer }

// Row adds a row.
func (t *textTable) Row(values ...any) { t.AppendRow(cells(values)) }

// cells returns the values as cells that can't control the terminal: names are cut, and other text is wrapped.
func cells(values []any) table.Row {
	row := make(table.Row, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case nameCell:
			row[i] = cutMiddle(visible(string(v)), nameWidth)
		case string:
			row[i] = pretty.WrapSoft(visible(v), cellWidth)
		case int, int64, bool:
			row[i] = v
		default:
			row[i] = visible(fmt.Sprint(v))
		}
	}
	return row
}

// visible returns text that can't control the terminal. It shows control characters, bidirectional controls and
// malformed UTF-8 as Go escapes: keys of users' tables may contain any of them.
func visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// visibleLines is [visible] for text of several lines.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = visible(line)
	}
	return strings.Join(lines, "\n")
}

// cutMiddle shortens text to at most maxWidth columns. It keeps as much of the end, where similar names differ, as of the start.
func cutMiddle(text string, maxWidth int) string {
	if pretty.StringWidth(text) <= maxWidth {
		return text
	}
	runes := []rune(text)
	// The result is runes[:start], an ellipsis and runes[end:]. width is its width.
	start, end, width := 0, len(runes), 1
	for ; width+pretty.RuneWidth(runes[end-1]) <= maxWidth/2; end-- {
		width += pretty.RuneWidth(runes[end-1])
	}
	for ; width+pretty.RuneWidth(runes[start]) <= maxWidth; start++ {
		width += pretty.RuneWidth(runes[start])
	}
	return string(runes[:start]) + "…" + string(runes[end:])
}
