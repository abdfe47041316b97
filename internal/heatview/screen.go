package heatview

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"
	pretty "github.com/jedib0t/go-pretty/v6/text"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/live"
	"github.com/hotshard/hotshard/internal/terminal"
)

// screen draws keys for a terminal of some size.
type screen struct {
	named         func(key string) string // how a key is shown
	width, height int
}

// Looks of text.
var (
	bold   = lipgloss.NewStyle().Bold(true)
	faint  = lipgloss.NewStyle().Faint(true)
	turned = lipgloss.NewStyle().Reverse(true)
	styles = map[heat.Status]lipgloss.Style{
		heat.Warm: lipgloss.NewStyle(), heat.Hot: lipgloss.NewStyle().Foreground(lipgloss.Color("3")).Bold(true),
		heat.Saturated: lipgloss.NewStyle().Foreground(lipgloss.Color("1")).Bold(true),
	}
)

// Lines of the screen that keys don't have: the head's three, two or three of advice and the
// foot's one.
const adviceLines = 3

func (s *screen) room() int { return max(1, s.height-3-adviceLines-2) }

// Widths of columns; the key's and the index's depend on the terminal's.
const (
	statusWidth = 9
	rateWidth   = 8
	errorWidth  = 6
	shareWidth  = 6
	trendWidth  = 8
	shardsWidth = 4
)

// list is the table of keys, and what to do about the chosen one, keys[at].
func (s *screen) list(keys []viewKey, at int) []string {
	indexed := slices.ContainsFunc(keys, func(k viewKey) bool { return k.row.Index != "" })
	sharded := slices.ContainsFunc(keys, func(k viewKey) bool { return k.shards > 0 })
	wide := s.width >= 60
	width := s.width - 2 - (statusWidth + 1) - (rateWidth + 1) - (shareWidth + 1)
	if wide {
		width -= errorWidth + 1 + trendWidth + 1
	}
	if sharded {
		width -= shardsWidth + 1
	}
	indexWidth := 0
	if indexed {
		indexWidth = max(6, min(16, width/3))
		width -= indexWidth + 1
	}
	width = max(width, 8)
	line := func(cells ...string) string { return strings.Join(cells, " ") }
	row := func(key, index, status, rate, err, share, shards, trend string) string {
		cells := []string{left(key, width)}
		if indexed {
			cells = append(cells, left(index, indexWidth))
		}
		cells = append(cells, left(status, statusWidth), right(rate, rateWidth))
		if wide {
			cells = append(cells, right(err, errorWidth))
		}
		cells = append(cells, right(share, shareWidth))
		if sharded {
			cells = append(cells, right(shards, shardsWidth))
		}
		if wide {
			cells = append(cells, trend)
		}
		return line(cells...)
	}
	lines := []string{"  " + faint.Render(row("KEY", "INDEX", "STATUS", "UNITS/S", "+ERR", "SHARE", "N", right("TREND", trendWidth)))}
	room := s.room()
	first := max(0, at-room+1)
	for i := first; i < len(keys) && i < first+room; i++ {
		k := keys[i]
		shards := ""
		if k.shards > 0 {
			shards = fmt.Sprint(k.shards)
		}
		text := row(terminal.Visible(s.named(k.row.Key)), terminal.Visible(k.row.Index), k.row.Status.String(), rateText(k.row.WriteUnitsPerSecond),
			rateText(math.Ceil(10*k.row.Error)/10), percent(k.row.WriteUnitsPerSecond/k.row.Limit), shards, spark(k.rates, trendWidth))
		if i == at {
			lines = append(lines, "▸ "+turned.Render(text))
		} else {
			lines = append(lines, "  "+styles[k.row.Status].Render(text))
		}
	}
	for len(lines) < room+1 {
		lines = append(lines, "")
	}
	return append(append(lines, ""), s.advice(keys[at], adviceLines)...)
}

// advice is what to do about a key, in few lines.
func (s *screen) advice(k viewKey, most int) []string {
	text := terminal.Visible(s.named(k.row.Key)) + ": " + terminal.Visible(k.advice)
	lines := strings.Split(pretty.WrapSoft(text, max(20, s.width-2)), "\n")
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = strings.TrimRight(lines[most-1], " ") + " …"
	}
	return lines
}

func rateText(v float64) string {
	if v >= 10_000 {
		return amount(v)
	}
	return fmt.Sprintf("%.1f", math.Floor(10*v)/10)
}

func left(text string, width int) string {
	text = terminal.Cut(text, width)
	return text + strings.Repeat(" ", max(0, width-pretty.StringWidth(text)))
}

func right(text string, width int) string {
	return strings.Repeat(" ", max(0, width-pretty.StringWidth(text))) + text
}

var bars = []rune(" ▁▂▃▄▅▆▇█")

// spark draws the newest rates, on the scale of the greatest.
func spark(rates []float64, width int) string {
	rates = rates[max(0, len(rates)-width):]
	most := slices.Max(append([]float64{1}, rates...))
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", width-len(rates)))
	for _, r := range rates {
		b.WriteRune(bars[barOf(r/most, len(bars)-1)])
	}
	return b.String()
}

// barOf is how many of so many steps a share has: one at least, if it is not nothing.
func barOf(share float64, steps int) int {
	if share <= 0 {
		return 0
	}
	return min(steps, max(1, int(math.Round(share*float64(steps)))))
}

// one shows the last minutes of a key.
func (s *screen) one(k viewKey) []string {
	const axis = 9
	name := terminal.Cut(terminal.Visible(s.named(k.row.Key)), max(10, s.width-2))
	lines := []string{styles[k.row.Status].Render(name)}
	facts := fmt.Sprintf("%s, at least %s units/s (+%s at most), %s of a partition, %d in its heaviest second", k.row.Status,
		rateText(k.row.WriteUnitsPerSecond), rateText(math.Ceil(10*k.row.Error)/10), percent(k.row.WriteUnitsPerSecond/k.row.Limit), k.row.Peak)
	if k.row.Index != "" {
		facts = "index " + terminal.Visible(k.row.Index) + ": " + facts
	}
	if k.shards > 0 {
		facts += fmt.Sprintf(", N %d", k.shards)
	}
	lines = append(lines, strings.Split(pretty.WrapSoft(facts, max(20, s.width-1)), "\n")...)
	advice := s.advice(k, 6)
	height := max(2, s.height-3-len(lines)-len(advice)-5)
	width := max(4, s.width-axis-1)
	rates := k.rates[max(0, len(k.rates)-width):]
	top := max(k.row.Limit, slices.Max(append([]float64{0}, rates...)))
	lines = append(lines, "")
	for h := height; h > 0; h-- {
		label := ""
		low, high := top*float64(h-1)/float64(height), top*float64(h)/float64(height)
		switch {
		case h == height:
			label = amount(top)
		case k.row.Limit > low && k.row.Limit <= high:
			label = amount(k.row.Limit)
		}
		var b strings.Builder
		for _, r := range rates {
			part := (r - low) / (high - low)
			if h == 1 {
				b.WriteRune(bars[barOf(part, len(bars)-1)])
			} else {
				b.WriteRune(bars[max(0, min(len(bars)-1, int(math.Round(part*float64(len(bars)-1)))))])
			}
		}
		lines = append(lines, right(label, axis-2)+" ┤"+styles[k.row.Status].Render(b.String()))
	}
	span := time.Duration(len(rates)) * live.Window
	lines = append(lines, faint.Render(right("units/s", axis-2)+" └"+left(terminal.Duration(span)+" ago", max(8, len(rates)-4))+" now"), "")
	return append(lines, advice...)
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", math.Floor(100*share)) }

// amount groups digits by thousands: it is for people.
func amount(v float64) string {
	text := fmt.Sprintf("%.0f", math.Floor(v))
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
