// Package terminal prints untrusted text on a terminal: it escapes control characters, and cuts long names.
//
//	t := terminal.NewTable("key", "units/s")
//	t.Row(terminal.Name(key), 12.5)
//	fmt.Println(t.Render())
package terminal

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

// Name is a cell that may be cut. JSON output has the whole name.
type Name string

// NewTable returns a table that escapes its cells with [Visible].
func NewTable(headers ...any) *Table {
	t := &Table{table.NewWriter()}
	t.SetStyle(table.StyleLight)
	if len(headers) > 0 {
		t.AppendHeader(cells(headers))
	}
	return t
}

// Table is a table of text.
type Table struct{ table.Writer }

// Row adds a row.
func (t *Table) Row(values ...any) { t.AppendRow(cells(values)) }

func cells(values []any) table.Row {
	row := make(table.Row, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case Name:
			row[i] = Cut(Visible(string(v)), nameWidth)
		case string:
			row[i] = pretty.WrapSoft(Visible(v), cellWidth)
		case int, int64, bool:
			row[i] = v
		default:
			row[i] = Visible(fmt.Sprint(v))
		}
	}
	return row
}

// Visible returns text that can't control the terminal. It shows control characters, bidirectional controls and
// malformed UTF-8 as Go escapes: keys of users' tables may contain any of them.
func Visible(text string) string {
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

// Lines is [Visible] for text of several lines.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Visible(line)
	}
	return strings.Join(lines, "\n")
}

// Cut shortens text to at most most columns. It keeps as much of the end, where similar names
// differ, as of the start.
func Cut(text string, most int) string {
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
