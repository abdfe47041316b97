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
	nameWidth = 60  // a name is cut to it
	cellWidth = 100 // other text is wrapped at it
)

// name is a cell that may be cut. JSON has it whole.
type name string

// newTable makes a table, which shows what it is given by visible.
func newTable(headers ...any) *grid {
	t := &grid{table.NewWriter()}
	t.SetStyle(table.StyleLight)
	if len(headers) > 0 {
		t.AppendHeader(cells(headers))
	}
	return t
}

type grid struct{ table.Writer }

func (g *grid) row(values ...any) { g.AppendRow(cells(values)) }

func cells(values []any) table.Row {
	row := make(table.Row, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case name:
			row[i] = cut(visible(string(v)))
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

// visible returns text in which nothing acts on the terminal: control characters, what
// turns round the direction of text and malformed UTF-8 are shown as Go escapes them.
// Names of the API may have the second; tables may have anything that others wrote
// there.
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

// message is visible for text of several lines.
func message(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = visible(line)
	}
	return strings.Join(lines, "\n")
}

// cut leaves the begin and the end of a name that is too wide.
func cut(text string) string { return cutTo(text, nameWidth) }

func cutTo(text string, most int) string {
	if pretty.StringWidth(text) <= most {
		return text
	}
	end := most / 3
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
