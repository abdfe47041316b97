package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/text"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/query"
)

// screen is where a table is drawn. Its size is in columns and lines.
type screen struct {
	width, height int
	redraws       bool // the table replaces the last one
}

// screenOf returns the screen of a terminal. Another output gets a size that has room for ten keys.
func screenOf(out io.Writer) screen {
	if width, height := terminalSize(out); width > 0 {
		return screen{width: width, height: height, redraws: true}
	}
	return screen{width: 160, height: 20}
}

// eraseScreen moves to the first cell and clears the screen.
const eraseScreen = "\x1b[H\x1b[J"

// table returns the text of a table of keys that fits the screen, with advice for hot ones. limit is a partition's limit in
// WCU/s; 0 is unknown. quietLine says how long no writes were seen; "" is no line. nameOf returns the name that is shown for a key.
func (s screen) table(title, quietLine string, limit float64, keys []query.HotKey, nameOf func(*query.HotKey) string) string {
	lines := []string{cutMiddle(visible(title), s.width)}
	if quietLine != "" {
		lines = append(lines, cutMiddle(visible(quietLine), s.width))
	}
	advice := s.advice(keys, nameOf)
	room := max(1, s.height-2-len(lines)-len(advice)) // 2: the header, and the last line for the cursor
	sharded := slices.ContainsFunc(keys, func(k query.HotKey) bool { return k.Type != "other" })
	lines = append(lines, s.row(sharded, "NOW", "LIMIT", "PEAK", "STATUS", "SHARDS", "KEY"))
	for _, k := range keys[:min(len(keys), room)] {
		share, shards := "", ""
		if limit > 0 {
			share = percentText(k.Current / limit)
		}
		if k.Type != "other" {
			shards = fmt.Sprint(k.Shards)
		}
		name := visible(nameOf(&k))
		if k.Index != "" {
			name += " (" + visible(k.Index) + ")"
		}
		lines = append(lines, s.row(sharded, rateText(k.Current), share, heat.Grouped(k.Peak), statusText(&k), shards, name))
	}
	text := strings.Join(append(lines, advice...), "\n") + "\n"
	if s.redraws {
		return eraseScreen + text
	}
	return text + "\n"
}

// row returns a line of the table, with the key last. It omits peak on a narrow screen, and shards if no key is sharded.
func (s screen) row(sharded bool, rate, share, peak, status, shards, key string) string {
	line := alignRight(rate, 8) + alignRight(share, 7)
	if s.width >= 60 {
		line += alignRight(peak, 9)
	}
	line += "  " + pretty.Pad(status, 10, ' ')
	if sharded {
		line += alignRight(shards, 6) + "  "
	}
	return line + cutMiddle(key, max(4, s.width-pretty.StringWidth(line)-1))
}

// maxAdvice is the maximum number of hot keys with advice.
const maxAdvice = 3

// advice returns lines of advice for the first maxAdvice hot keys, at most a third of the screen. keys begin with hot keys.
func (s screen) advice(keys []query.HotKey, nameOf func(*query.HotKey) string) (lines []string) {
	for _, k := range keys[:min(len(keys), maxAdvice)] {
		if k.Status == heat.Normal {
			break
		}
		text := cutMiddle(visible(nameOf(&k)), max(8, s.width/3)) + ": " + visible(k.Advice)
		for line := range strings.SplitSeq(pretty.WrapSoft(text, max(20, s.width-1)), "\n") {
			lines = append(lines, strings.TrimRight(line, " "))
		}
	}
	maxLines := max(0, s.height-6) / 3
	return lines[:min(len(lines), maxLines)]
}

// statusText returns a key's current status: hot or saturated, "cooled" if the key was hot, or "normal".
func statusText(k *query.HotKey) string {
	switch {
	case k.Status >= heat.Hot:
		return k.Status.String()
	case k.Worst >= heat.Hot:
		return "cooled"
	}
	return "normal"
}

func rateText(wcu float64) string {
	if wcu >= 10_000 {
		return heat.Grouped(wcu)
	}
	return fmt.Sprintf("%.1f", math.Floor(10*wcu)/10)
}

func percentText(share float64) string { return fmt.Sprintf("%.0f%%", math.Floor(100*share)) }

func alignRight(text string, width int) string { return pretty.AlignRight.Apply(text, width) }
