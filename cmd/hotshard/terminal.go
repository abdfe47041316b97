// Package terminal prints untrusted text on a terminal: it escapes control characters, and cuts long names.
//
//	t := newTable("key", "units/s")
//	t.Row(nameCell(key), 12.5)
//	fmt.Println(t.Render())
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

// nameCell is a cell that may be cut. JSON output has the whole name.
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

// cutMiddle shortens text to at most most columns. It keeps as much of the end, where similar names
// differ, as of the start.
func cutMiddle(text string, most int) string {
	if pretty.StringWidth(text) <= most {
		return text
	}
	end := most / 2
	runes := []rune(text)
	to, from, width := 0, len(runes), 1
	for ; width+pretty.RuneWidth(runes[from-1]) <= end; from-- {
		width += pretty.RuneWidth(runes[from-1])
	}
	for ; width+pretty.RuneWidth(runes[to]) <= most; to++ {
		width += pretty.RuneWidth(runes[to])
	}
	return string(runes[:to]) + "…" + string(runes[from:])
}
