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

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/ownkeys"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/tool/live"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// given is a source of fixed windows.
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

// hostile is a key that would change the terminal's colours and the direction of text.
const hostile = "esc\x1b[31m\u202e<img onerror>"

// windowOf returns a window of 10 s whose keys have these units. A key of an index has the form index/key.
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

// viewOf returns a view of these complete windows.
func viewOf(t *testing.T, shards ShardCounts, list ...heat.Window) *view {
	t.Helper()
	over := list[len(list)-1].Start.Add(live.Window)
	w := &Watched{Source: given(list), Settled: func() time.Time { return over }, Name: "orders", Where: "eu-west-1", Shards: shards, Run: func(context.Context) error { return nil }}
	m := newView(t.Context(), w, Options{})
	m.collector.o.Span = time.Hour
	m.read = func() tea.Msg {
		now, err := m.collector.refresh(t.Context(), over.Add(3*time.Second))
		return refreshed{now, err}
	}
	m.Update(m.Init()())
	return m
}

func press(m *view, keys ...string) tea.Cmd {
	var last tea.Cmd
	for _, k := range keys {
		message := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
		if kind, ok := specialKeys[k]; ok {
			message = tea.KeyMsg{Type: kind}
		}
		_, last = m.Update(message)
	}
	return last
}

var specialKeys = map[string]tea.KeyType{
	"enter": tea.KeyEnter, "esc": tea.KeyEsc, "down": tea.KeyDown, "ctrl+c": tea.KeyCtrlC, "backspace": tea.KeyBackspace,
}

// busy returns windows in which user#7 and user#8 are hot and cool, and at the end user#9 is hot.
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
	return append(list, windowOf(start.Add(2*time.Minute), map[string]uint64{"user#7": 2500, "user#9": 9990}),
		windowOf(start.Add(130*time.Second), map[string]uint64{"user#7": 2500, "user#9": 9990}))
}

// checkView checks that the view contains each text of has and no text of not.
func checkView(t *testing.T, m *view, what string, has, not []string) {
	t.Helper()
	text := m.View()
	for _, want := range has {
		if !strings.Contains(text, want) {
			t.Errorf("%s: the view lacks %q:\n%s", what, want, text)
		}
	}
	for _, wrong := range not {
		if strings.Contains(text, wrong) {
			t.Errorf("%s: the view has %q:\n%s", what, wrong, text)
		}
	}
}

// TestView checks the list, the details, the help, and what each key of the keyboard does.
func TestView(t *testing.T) {
	m := viewOf(t, nil, busy()...)
	check := func(what string, has, not []string) { t.Helper(); checkView(t, m, what, has, not) }
	lines := strings.Split(m.View(), "\n")
	if !strings.Contains(lines[4], "▸    999.0") || !strings.Contains(lines[4], "user#9") || !strings.Contains(lines[5], "user#7") {
		t.Errorf("the list does not begin with user#9 and user#7:\n%s", m.View())
	}
	check("list", []string{"orders, eu-west-1", "1 hot of", "saturated", "cooled", "updated 3s ago", "WCU/S▼", "q quit", "? help"}, []string{"\x1b[31m", "\u202e", "cold-01"})
	press(m, "down")
	check("second", []string{"▸    250.0", "user#7: "}, nil)
	press(m, "enter")
	check("detail", []string{"cooled: 250.0 WCU/s now", "750 WCU in a second", "was hot until 12:02:00", "25% of the partition limit", "1,000 ┤", "2m20s ago", "Enter or Esc back"}, []string{"user#9"})
	press(m, "esc", "s")
	check("by the next column", []string{"LIMIT▼"}, nil)
	press(m, "r")
	check("reversed", []string{"LIMIT▲"}, nil)
	press(m, "r", "s", "s", "s", "s", "s")
	check("by the first column again", []string{"WCU/S▼"}, nil)
	press(m, "/", "R#9")
	check("typing", []string{"filter: R#9", "user#9"}, []string{"user#7"})
	press(m, "backspace", "7", "enter")
	check("typed", []string{"user#7", "Esc shows all"}, []string{"user#9"})
	press(m, "/", "x", "enter")
	check("no match", []string{`No key contains "R#7x"`}, nil)
	press(m, "esc", "?")
	check("help", []string{"sort by the next column", "a full bar is the partition limit", "any key goes back"}, nil)
	press(m, "q")
	check("closed help", []string{"user#9"}, nil)
	var copied string
	m.copy = func(text string) { copied = text }
	press(m, "c")
	if !strings.HasPrefix(copied, "user#7: ") {
		t.Errorf("copied %q", copied)
	}
	check("copied", []string{"Advice copied."}, nil)
	press(m, "p")
	check("paused", []string{" paused ", "user#7"}, nil)
	if _, next := m.Update(refreshed{snapshot: snapshot{}}); next == nil {
		t.Error("a paused view stops its refreshes")
	}
	check("paused, after a refresh", []string{"user#7"}, nil)
	press(m, "p")
	check("resumed", []string{"Reading."}, []string{"user#7"})
	if quit := press(m, "q"); quit == nil || quit() != tea.Quit() || m.err != nil {
		t.Errorf("q does not quit without an error: %v", m.err)
	}
	if quit := press(m, "ctrl+c"); quit == nil || quit() != tea.Quit() || !errors.Is(m.err, ErrInterrupted) {
		t.Errorf("Ctrl-C does not quit with ErrInterrupted: %v", m.err)
	}
}

// TestFallingRate checks that a normal key whose rate falls stays in the list, with the error of the newest window. A key
// that is not in the newest window has no error.
func TestFallingRate(t *testing.T) {
	before := windowOf(enginetest.Later, map[string]uint64{"falling": 500, "storm": 8000})
	now := windowOf(enginetest.Later.Add(live.Window), map[string]uint64{"falling": 400})
	for i := range before.Items[0].Keys {
		before.Items[0].Keys[i].Err = 100
	}
	now.Items[0].Keys[0].Err = 30
	m := viewOf(t, nil, before, now)
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 24})
	checkView(t, m, "list", []string{"40.0    3.0     4%", "falling: 4% of the partition limit"}, []string{"10.0"})
	press(m, "enter")
	checkView(t, m, "details", []string{"normal: 40.0 WCU/s now (at most 3.0 more)"}, nil)
	press(m, "down")
	checkView(t, m, "details of a key that is not in the newest window", []string{"storm", "hot: 0.0 WCU/s now, 0%"}, nil)
}

// TestViewShowsLastSnapshot checks that a view shows its last snapshot, and nothing of a refresh in flight. With the race
// detector it checks that they share no memory.
func TestViewShowsLastSnapshot(t *testing.T) {
	list := []heat.Window{windowOf(enginetest.Later, nil), windowOf(enginetest.Later.Add(live.Window), map[string]uint64{"user#7": 10})}
	over := enginetest.Later.Add(live.Window)
	w := &Watched{Source: given(list), Settled: func() time.Time { return over }, Run: func(context.Context) error { return nil }}
	m := newView(t.Context(), w, Options{Prefix: "nobody"})
	m.Update(m.read())
	checkView(t, m, "without writes", []string{"No recent writes."}, nil)
	over = over.Add(live.Window)
	read := make(chan tea.Msg, 1)
	go func() { read <- m.read() }()
	for len(read) == 0 {
		checkView(t, m, "during the refresh", []string{"No recent writes."}, nil)
	}
	checkView(t, m, "before the message", []string{"No recent writes."}, nil)
	m.Update(<-read)
	checkView(t, m, "after the message", []string{"No key matches --index and --prefix."}, nil)
}

// TestViewErrors checks that a view shows transient errors and continues, and that it ends with other errors.
func TestViewErrors(t *testing.T) {
	m := viewOf(t, nil, busy()...)
	transient := errors.New("connection reset")
	m.transient = func(err error) bool { return errors.Is(err, transient) }
	if _, next := m.Update(refreshed{m.now, transient}); next == nil || m.err != nil {
		t.Errorf("a transient error ends the view with %v", m.err)
	}
	checkView(t, m, "a transient error", []string{"Disconnected", "user#9"}, nil)
	m.Update(refreshed{m.now, nil})
	checkView(t, m, "the next refresh", []string{"user#9"}, []string{"Disconnected"})
	denied := errors.New("denied")
	m.explain = func(err error) error { return fmt.Errorf("explained: %w", err) }
	_, next := m.Update(refreshed{m.now, denied})
	if next == nil {
		t.Fatal("the view does not explain a final error")
	}
	if _, next = m.Update(next()); next == nil || next() != tea.Quit() || !errors.Is(m.err, denied) || !strings.HasPrefix(m.err.Error(), "explained") {
		t.Errorf("a final error ends the view with %v", m.err)
	}
}

// TestOutcome checks the error of a view that ended by q or at the end of its duration.
func TestOutcome(t *testing.T) {
	over, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for _, c := range []struct {
		options Options
		ctx     context.Context
		want    string // "" for nil
	}{
		{Options{Prefix: "nobody"}, t.Context(), `No key that begins with "nobody" was written`},
		{Options{Prefix: "nobody"}, over, `No key that begins with "nobody" was written`},
		{Options{Index: "nope"}, over, `No key of index "nope" was written`},
		{Options{Prefix: "user"}, over, "deadline"},
		{Options{Prefix: "user"}, t.Context(), ""},
		{Options{}, t.Context(), ""},
	} {
		w := &Watched{Source: given(busy()), Settled: func() time.Time { return enginetest.Later.Add(time.Hour) }}
		m := newView(t.Context(), w, c.options)
		m.Update(m.read())
		err := m.outcome(c.ctx, nil, c.options)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v, end of the duration %t: error %v, want %q", c.options, c.ctx == over, err, c.want)
		}
	}
	m := viewOf(t, nil, busy()...)
	press(m, "ctrl+c")
	if err := m.outcome(t.Context(), nil, Options{}); !errors.Is(err, ErrInterrupted) {
		t.Errorf("Ctrl-C: error %v, want ErrInterrupted", err)
	}
}

// counts is a shard map in which each key has this shard count.
type counts int

func (n counts) Lookup(context.Context, string, time.Time) (shardmap.Entry, error) {
	return shardmap.Entry{History: shard.History{{Count: int(n)}}}, nil
}
func (n counts) Partitions(string) int { return 64 }

// TestWriteShards checks that the write shards of a base key are one row. Its details list them in numeric order.
func TestWriteShards(t *testing.T) {
	units := map[string]uint64{"C#other#0": 50}
	for n := range 12 {
		units[fmt.Sprint("C#page#", n)] = uint64(100 + n)
	}
	var list []heat.Window
	for i := range 3 {
		w := windowOf(enginetest.Later.Add(time.Duration(i)*live.Window), units)
		w.Items[0].Table = ""
		list = append(list, w)
	}
	m := viewOf(t, counts(12), list...)
	if keys := m.keys(); len(keys) != 2 || keys[0].id.key != "C#page" || keys[0].Current != 11.1 {
		t.Fatalf("keys %+v, want C#page with 11.1 WCU/s first of two", keys)
	}
	checkView(t, m, "list", []string{"C#page", "  12 "}, []string{"C#page#"})
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 60})
	press(m, "enter")
	text := m.View()
	last := -1
	for n := range 12 {
		at := strings.Index(text, fmt.Sprintf("C#page#%d", n))
		if at <= last {
			t.Fatalf("write shard %d is out of order:\n%s", n, text)
		}
		last = at
	}
}

// TestNamesOfPrograms checks that the partition keys of a name which programs shard are one row with their sum. Its number
// of write shards is the shard map's, or else the least that the keys imply.
func TestNamesOfPrograms(t *testing.T) {
	units := map[string]uint64{"other": 50, "acme": 100, "acme#SHARD_10": 110, "acme#SHARD_2": 120}
	for want, shards := range map[int]ShardCounts{16: counts(16), 11: nil} {
		m := viewOf(t, shards, windowOf(enginetest.Later, units))
		m.collector.o.Programs, m.collector.fresh = &Programs{Keys: ownkeys.Keys{Format: shard.HashShard}}, true
		m.Update(m.read())
		keys := m.keys()
		if len(keys) != 2 || keys[0].id.key != "acme" || keys[0].Current != 12 || keys[0].total() != 33 || keys[0].shards != want {
			t.Fatalf("keys %+v, want acme with 12 WCU/s of 33 and %d write shards first of two", keys, want)
		}
		m.Update(tea.WindowSizeMsg{Width: 160, Height: 60})
		press(m, "enter")
		text := m.View()
		if second, tenth := strings.Index(text, "acme#SHARD_2"), strings.Index(text, "acme#SHARD_10"); second < 0 || second > tenth {
			t.Errorf("the write shards are not in numeric order:\n%s", text)
		}
		checkView(t, m, "details", []string{fmt.Sprintf("%d write shards, 33.0 WCU/s together", want)}, nil)
	}
}

// TestCutNamesDiffer checks that names which differ only at their ends still differ when they are cut.
func TestCutNamesDiffer(t *testing.T) {
	units := map[string]uint64{}
	for n := range 5 {
		units[fmt.Sprintf("tenant#0b5c1f0a-9d7e-4c33-8f5e-2f6b7a9c1d20/session#2026-11-23/part-%04d", n)] = uint64(100 + n)
	}
	m := viewOf(t, nil, windowOf(enginetest.Later, units))
	for n := range 5 {
		checkView(t, m, "80 columns", []string{fmt.Sprintf("/part-%04d", n)}, nil)
	}
}

// TestViewFits checks that the view fits terminals of all sizes.
func TestViewFits(t *testing.T) {
	m := viewOf(t, nil, busy()...)
	for _, detail := range []bool{false, true} {
		for width := 20; width <= 200; width += 9 {
			for height := 6; height <= 60; height += 6 {
				m.Update(tea.WindowSizeMsg{Width: width, Height: height})
				m.detail, m.help = detail, !detail && width%2 == 0
				lines := strings.Split(m.View(), "\n")
				if len(lines) > height {
					t.Errorf("%d x %d, details %t: %d lines", width, height, detail, len(lines))
				}
				for _, line := range lines {
					if w := pretty.StringWidth(line); w > width {
						t.Errorf("%d x %d, details %t: a line of %d columns: %q", width, height, detail, w, line)
					}
				}
			}
		}
	}
}

// arriving is a stack's heat, in which some windows are stored seconds after their end.
type arriving struct {
	windows []heat.Window
	delays  []time.Duration // from a window's end until it is stored
	reads   int
}

func (a *arriving) Windows(_ context.Context, from, to time.Time, _ time.Duration) iter.Seq2[heat.Window, error] {
	a.reads++
	var stored given
	for i, w := range a.windows {
		if time.Now().Before(w.Start.Add(live.Window + a.delays[i])) {
			continue
		}
		if last := len(stored) - 1; last >= 0 && stored[last].Start.Equal(w.Start) {
			w.Items = append(stored[last].Items, w.Items...)
			stored = stored[:last]
		}
		stored = append(stored, w)
	}
	return stored.Windows(context.Background(), from, to, live.Window)
}

// TestStack checks that a window is printed after the items of all its stream shards are stored. DynamoDB is read only
// every few seconds. Equal keys of two tables are two keys.
func TestStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().UTC().Truncate(live.Window)
		var a arriving
		for i := range 6 {
			for n, table := range []string{"orders", "users"} {
				w := windowOf(start.Add(time.Duration(i)*live.Window), map[string]uint64{"7": uint64(1000 * (n + 1))})
				w.Items[0].Table, w.Items[0].StreamShard = table, table
				a.windows, a.delays = append(a.windows, w), append(a.delays, time.Duration(100+9800*n)*time.Millisecond)
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
		want := `"keys":[{"table":"users","key":"7","status":"warm","write_units_per_second":200,"error":0,"share":0.2,"peak":200,"worst":"warm"`
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		for _, line := range lines {
			if !strings.Contains(line, want) {
				t.Errorf("line %s\nlacks %s", line, want)
			}
		}
		if len(lines) != 5 || a.reads > 61/2 {
			t.Errorf("%d lines and %d reads in 61 s, want 5 and at most 30", len(lines), a.reads)
		}
		l := o.collector(w)
		seen, err := l.refresh(t.Context(), time.Now())
		if err != nil || len(seen.keys) != 2 {
			t.Errorf("the view has %d keys, %v; want 2", len(seen.keys), err)
		}
	})
}
