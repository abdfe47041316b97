package heatview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	pretty "github.com/jedib0t/go-pretty/v6/text"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/keyname"
	"github.com/hotshard/hotshard/internal/live"
	"github.com/hotshard/hotshard/internal/local/enginetest"
)

// given are windows as a source.
type given []heat.Window

func (g given) Windows(_ context.Context, from, to time.Time, _ time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		for _, w := range g {
			if !w.Start.Before(from) && w.Start.Before(to) && !yield(w, nil) {
				return
			}
		}
	}
}

const hostile = "esc\x1b[31m\u202e<img onerror>"

// windowOf has keys with these units in 10 s.
func windowOf(start time.Time, units map[string]uint64) heat.Window {
	it := heat.Item{Table: "orders", Start: start, Window: 10 * time.Second, Limit: 1000, HotRate: 700}
	for key, n := range units {
		index, name, ofIndex := strings.Cut(key, "/")
		if !ofIndex {
			index, name = "", key
			it.Units += n
		}
		it.Keys = append(it.Keys, heat.Key{Index: index, Key: name, Units: n, Peak: n / 10, PeakAt: start})
	}
	return heat.Window{Start: start, Items: []heat.Item{it}}
}

// viewOf is the view of these windows, the last of which is running.
func viewOf(t *testing.T, list ...heat.Window) *view {
	t.Helper()
	over := list[len(list)-1].Start
	w := &Watched{Source: given(list), Settled: func() time.Time { return over }, Name: "orders", Where: "eu-west-1", Run: func(context.Context) error { return nil }}
	m := newView(t.Context(), w, Options{})
	l := &looker{w: w, keep: (&Options{}).keep, span: time.Hour}
	m.read = func() tea.Msg {
		now, err := l.look(t.Context(), over.Add(3*time.Second))
		return looked{now, err}
	}
	m.Update(m.Init()())
	return m
}

func press(m *view, keys ...string) tea.Cmd {
	var last tea.Cmd
	for _, k := range keys {
		message := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
		for kind, name := range map[tea.KeyType]string{tea.KeyEnter: "enter", tea.KeyEsc: "esc", tea.KeyUp: "up", tea.KeyDown: "down", tea.KeyCtrlC: "ctrl+c", tea.KeyBackspace: "backspace"} {
			if name == k {
				message = tea.KeyMsg{Type: kind}
			}
		}
		_, last = m.Update(message)
	}
	return last
}

func busy() []heat.Window {
	start := enginetest.Later
	var list []heat.Window
	for i := range 12 {
		units := map[string]uint64{"user#7": 7500, "user#8": uint64(500 * i), hostile: 600, "by_city/Rome": 3000}
		for n := range 40 {
			units[fmt.Sprintf("cold-%02d", n)] = 10
		}
		list = append(list, windowOf(start.Add(time.Duration(i)*10*time.Second), units))
	}
	return append(list, windowOf(start.Add(2*time.Minute), map[string]uint64{"user#7": 2500, "user#9": 9990}))
}

func TestView(t *testing.T) {
	m := viewOf(t, busy()...)
	check := func(what string, has, not []string) {
		t.Helper()
		text := m.View()
		for _, want := range has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: it lacks %q:\n%s", what, want, text)
			}
		}
		for _, wrong := range not {
			if strings.Contains(text, wrong) {
				t.Errorf("%s: it has %q:\n%s", what, wrong, text)
			}
		}
	}
	lines := strings.Split(m.View(), "\n")
	if !strings.HasPrefix(lines[4], "▸ user#9 ") || !strings.HasPrefix(lines[5], "  user#7 ") {
		t.Errorf("the hottest are not on top:\n%s", m.View())
	}
	check("list", []string{"orders, eu-west-1", "2 hot of", "saturated", "by_city", "750.0", "75 %", `esc\x1b[31m\u202`, "spread its writes over", "q quit"}, []string{"\x1b[31m", "\u202e"})
	press(m, "down")
	check("second", []string{"▸ user#7", "user#7: at least 75 %"}, nil)
	press(m, "enter")
	check("detail", []string{"hot, at least 750.0 units/s", "1,000 ┤", "2m ago", "spread its writes over", "back"}, []string{"by_city"})
	press(m, "esc", "s")
	check("by rise", []string{"s sort: rise"}, nil)
	press(m, "s", "/", "cold-0")
	check("typing", []string{"keys that begin with: cold-0", "cold-07"}, []string{"user#7", "cold-11"})
	press(m, "backspace", "3", "enter")
	check("typed", []string{"cold-39", "(cold-3…)"}, []string{"cold-07"})
	press(m, "/", "x", "enter")
	check("none", []string{`No key begins with "cold-3x"`}, nil)
	press(m, "esc", "p")
	check("paused", []string{" paused ", "user#7"}, nil)
	if _, next := m.Update(looked{look: look{}}); next == nil {
		t.Error("it does not look again while it is paused")
	}
	check("paused, with news", []string{"user#7"}, nil)
	press(m, "p")
	check("going on", []string{"Listening"}, []string{"user#7"})
	for _, k := range []string{"q", "ctrl+c"} {
		if quit := press(m, k); quit == nil || quit() != tea.Quit() {
			t.Errorf("%s does not quit", k)
		}
	}
}

// TestViewFits: whatever the terminal's size, no line is wider, and there are no more lines.
func TestViewFits(t *testing.T) {
	m := viewOf(t, busy()...)
	for _, detail := range []bool{false, true} {
		for width := 20; width <= 200; width += 9 {
			for height := 6; height <= 60; height += 6 {
				m.Update(tea.WindowSizeMsg{Width: width, Height: height})
				m.detail = detail
				lines := strings.Split(m.View(), "\n")
				if len(lines) > height {
					t.Errorf("%d x %d, detail %v: %d lines", width, height, detail, len(lines))
				}
				for _, line := range lines {
					if w := pretty.StringWidth(line); w > width {
						t.Errorf("%d x %d, detail %v: a line of %d: %q", width, height, detail, w, line)
					}
				}
			}
		}
	}
}

func TestLines(t *testing.T) {
	w := windowOf(enginetest.Later, map[string]uint64{"user#7": 7512, "other": 10, "by_city/Rome": 300})
	w.Items[0].Coverage = 0.937
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{Table: "orders", JSON: true}, `{"start":"2126-01-15T12:00:00.000Z","window":"10s","keys":[{"key":"user#7","status":"hot","write_units_per_second":751.2,"error":0,"share":0.7512},{"key":"Rome","index":"by_city","status":"warm","write_units_per_second":30,"error":0,"share":0.03},{"key":"other","status":"warm","write_units_per_second":1,"error":0,"share":0.001}],"coverage":0.93}` + "\n"},
		{Options{Table: "orders", JSON: true, Index: "by_city"}, `{"start":"2126-01-15T12:00:00.000Z","window":"10s","keys":[{"key":"Rome","index":"by_city","status":"warm","write_units_per_second":30,"error":0,"share":0.03}],"coverage":0.93}` + "\n"},
		{Options{Table: "orders", JSON: true, Prefix: "use", Hash: true}, `{"start":"2126-01-15T12:00:00.000Z","window":"10s","keys":[{"key":"` + keyname.Pseudonym("user#7") + `","status":"hot","write_units_per_second":751.2,"error":0,"share":0.7512}],"coverage":0.93}` + "\n"},
	} {
		var out bytes.Buffer
		if err := c.options.write(&out, c.options.line(w)); err != nil || out.String() != c.want {
			t.Errorf("%+v: %v\n%s\nwant\n%s", c.options, err, out.String(), c.want)
		}
	}
	var out bytes.Buffer
	o := Options{}
	if err := o.write(&out, o.line(windowOf(enginetest.Later, map[string]uint64{hostile: 10}))); err != nil || !strings.Contains(out.String(), `esc\x1b[31m\u202e<img`) || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// arriving is a stack's heat, of which some comes seconds after its window's end.
type arriving struct {
	windows []heat.Window
	comes   []time.Duration // after the end
	reads   int
}

func (a *arriving) Windows(_ context.Context, from, to time.Time, _ time.Duration) iter.Seq2[heat.Window, error] {
	a.reads++
	byStart := make(map[time.Time]heat.Window)
	var starts []time.Time
	for i, w := range a.windows {
		if w.Start.Before(from) || !w.Start.Before(to) || time.Now().Before(w.Start.Add(live.Window+a.comes[i])) {
			continue
		}
		if _, ok := byStart[w.Start]; !ok {
			starts = append(starts, w.Start)
		}
		byStart[w.Start] = heat.Window{Start: w.Start, Items: append(byStart[w.Start].Items, w.Items...)}
	}
	return func(yield func(heat.Window, error) bool) {
		for _, start := range starts {
			if !yield(byStart[start], nil) {
				return
			}
		}
	}
}

// TestStack: a window is printed once all its stream shards' items are there, and DynamoDB
// is asked every few seconds only. Equal keys of two tables are two.
func TestStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().UTC().Truncate(live.Window)
		var a arriving
		for i := range 6 {
			for n, table := range []string{"orders", "users"} {
				w := windowOf(start.Add(time.Duration(i)*live.Window), map[string]uint64{"7": uint64(1000 * (n + 1))})
				w.Items[0].Table, w.Items[0].StreamShard = table, table
				a.windows, a.comes = append(a.windows, w), append(a.comes, time.Duration(100+9800*n)*time.Millisecond)
			}
		}
		w := Counted(&a, nil, "hotshard-*", "eu-west-1")
		ctx, cancel := context.WithTimeout(t.Context(), 61*time.Second)
		defer cancel()
		var out bytes.Buffer
		o := Options{Since: start, JSON: true}
		if err := Print(ctx, &out, w, o); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		want := `"keys":[{"table":"users","key":"7","status":"warm","write_units_per_second":200,"error":0,"share":0.2},{"table":"orders","key":"7","status":"warm","write_units_per_second":100,"error":0,"share":0.1}]`
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		for _, line := range lines {
			if !strings.Contains(line, want) {
				t.Errorf("%s\nlacks %s", line, want)
			}
		}
		if len(lines) != 5 || a.reads > 61/2 {
			t.Errorf("%d lines, %d reads in a minute", len(lines), a.reads)
		}
		l := &looker{w: w, keep: o.keep, span: time.Hour, next: start}
		seen, err := l.look(t.Context(), time.Now())
		if err != nil || len(seen.keys) != 2 {
			t.Errorf("the view has %d keys: %v", len(seen.keys), err)
		}
	})
}
