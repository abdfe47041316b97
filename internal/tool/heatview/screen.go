package heatview

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"
	pretty "github.com/jedib0t/go-pretty/v6/text"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/jsontime"
	"github.com/hotshard/hotshard/internal/tool/live"
	"github.com/hotshard/hotshard/internal/tool/terminal"
)

// screen draws keys for a terminal's size.
type screen struct {
	named         func(key string) string // returns the key as shown
	width, height int
}

// Styles of text.
var (
	bold   = lipgloss.NewStyle().Bold(true)
	faint  = lipgloss.NewStyle().Faint(true)
	turned = lipgloss.NewStyle().Reverse(true)
	styles = map[heat.Status]lipgloss.Style{
		heat.Warm: lipgloss.NewStyle(), heat.Hot: lipgloss.NewStyle().Foreground(lipgloss.Color("3")).Bold(true),
		heat.Saturated: lipgloss.NewStyle().Foreground(lipgloss.Color("1")).Bold(true),
	}
)

// Lines of the screen other than keys: three in the head, three of advice after a blank one, and the foot.
const adviceLines = 3

func (s *screen) room() int { return max(1, s.height-3-1-adviceLines-2) }

// list returns the table of keys, and the advice for the selected one, keys[at].
func (s *screen) list(keys []viewKey, at int, sorted string, reversed bool) []string {
	columns := s.columns(keys)
	lines := []string{"  " + faint.Render(s.header(columns, sorted, reversed))}
	room := s.room()
	first := max(0, at-room+1)
	for i := first; i < len(keys) && i < first+room; i++ {
		text := s.line(columns, &keys[i])
		if i == at {
			lines = append(lines, "▸ "+turned.Render(text))
		} else {
			lines = append(lines, "  "+styles[keys[i].Now].Render(text))
		}
	}
	for len(lines) < room+1 {
		lines = append(lines, "")
	}
	return append(append(lines, ""), s.advice(keys[at], adviceLines)...)
}

// advice returns the advice for a key in at most most lines. If it is longer, the last line ends with an ellipsis.
func (s *screen) advice(k viewKey, most int) []string {
	text := terminal.Cut(terminal.Visible(s.named(k.id.key)), max(20, s.width/2)) + ": " + terminal.Visible(k.advice)
	width := max(20, s.width-3)
	lines := strings.Split(pretty.WrapSoft(text, width), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = lipgloss.NewStyle().MaxWidth(width-2).Render(lines[most-1]) + " …"
	}
	return lines
}

func rateText(v float64) string {
	if v >= 10_000 {
		return heat.Grouped(v)
	}
	return fmt.Sprintf("%.1f", math.Floor(10*v)/10)
}

func right(text string, width int) string { return pretty.AlignRight.Apply(text, width) }

var bars = []rune(" ▁▂▃▄▅▆▇█")

// spark draws the newest rates. A full bar is the partition limit, for all keys.
func spark(rates []float64, limit float64, width int) string {
	rates = rates[max(0, len(rates)-width):]
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", width-len(rates)))
	for _, r := range rates {
		b.WriteRune(bars[barOf(r/limit, len(bars)-1)])
	}
	return b.String()
}

// barOf returns a share in steps: at least one if the share is above 0.
func barOf(share float64, steps int) int {
	if share <= 0 {
		return 0
	}
	return min(steps, max(1, int(math.Round(share*float64(steps)))))
}

// keyPage returns the lines of a key's page: its recent rates and its write shards.
func (s *screen) keyPage(k viewKey) []string {
	lines := []string{styles[k.Now].Render(terminal.Cut(terminal.Visible(s.named(k.id.key)), max(10, s.width-2)))}
	lines = append(lines, strings.Split(pretty.WrapSoft(facts(k), max(20, s.width-1)), "\n")...)
	advice := s.advice(k, 6)
	room := s.height - 3 - len(lines) - len(advice) - 5
	shards := s.shardLines(k, max(0, room/2))
	lines = append(lines, "")
	lines = append(lines, s.chart(k, max(2, room-len(shards)))...)
	lines = append(append(lines, ""), shards...)
	return append(lines, advice...)
}

// facts returns a key's figures.
func facts(k viewKey) string {
	more := ""
	if most, ok := k.currentError(); ok {
		more = fmt.Sprintf(" (at most %s more)", rateText(math.Ceil(10*most)/10))
	}
	text := fmt.Sprintf("%s: %s WCU/s now%s, %s of the partition limit; peak %s WCU in a second", k.statusText(),
		rateText(k.Current), more, percent(share(&k)), heat.Grouped(float64(k.peak)))
	if cooled := k.CooledAt(); !cooled.IsZero() {
		text += fmt.Sprintf("; was %s until %s", k.Worst, cooled.UTC().Format(time.TimeOnly))
	}
	if k.id.index != "" {
		text = "index " + terminal.Visible(k.id.index) + ": " + text
	}
	if k.shards > 0 {
		text += fmt.Sprintf("; %d write shards, %s WCU/s together", k.shards, rateText(k.total()))
	}
	return text
}

// shardLines returns the lines for the write shards of a key, in numeric order.
func (s *screen) shardLines(k viewKey, most int) (lines []string) {
	if k.shards == 0 || most < 3 {
		return nil
	}
	lines = append(lines, faint.Render("   WCU/S  LIMIT   PEAK  WRITE SHARD"))
	for i, p := range k.written {
		if len(lines) == most-2 && i < len(k.written)-1 {
			lines = append(lines, faint.Render(fmt.Sprintf("  … and %d more", len(k.written)-i)))
			break
		}
		lines = append(lines, fmt.Sprintf("%8s %6s %6d  %s", rateText(p.WriteUnitsPerSecond), percent(p.WriteUnitsPerSecond/p.Limit), p.Peak, terminal.Cut(terminal.Visible(s.named(p.Key)), max(8, s.width-25))))
	}
	return append(lines, "")
}

// chart draws a key's rates over time.
func (s *screen) chart(k viewKey, height int) (lines []string) {
	const axis = 9
	rates := k.rates[max(0, len(k.rates)-max(4, s.width-axis-1)):]
	top := max(k.row.Limit, slices.Max(append([]float64{0}, rates...)))
	for h := height; h > 0; h-- {
		label := ""
		low, high := top*float64(h-1)/float64(height), top*float64(h)/float64(height)
		switch {
		case h == height:
			label = heat.Grouped(top)
		case k.row.Limit > low && k.row.Limit <= high:
			label = heat.Grouped(k.row.Limit)
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
		lines = append(lines, right(label, axis-2)+" ┤"+styles[k.Now].Render(b.String()))
	}
	ago := jsontime.Duration(time.Duration(len(rates))*live.Window).String() + " ago"
	return append(lines, faint.Render(right("WCU/s", axis-2)+" └"+ago+strings.Repeat(" ", max(2, len(rates)-len(ago)-3))+"now"))
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", math.Floor(100*share)) }
