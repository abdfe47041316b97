package heatview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/tool/terminal"
)

// Show runs the terminal view until the operator quits or ctx ends. It returns a [NoMatch] if keys were written and the
// index or prefix matched none of them, or else the error of ctx.
func Show(ctx context.Context, out *os.File, w *Watched, o Options) error {
	m := newView(ctx, w, o)
	m.copy = func(text string) { termenv.NewOutput(out).Copy(text) }
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithAltScreen(), tea.WithOutput(out), tea.WithoutSignalHandler())
	w.Notify = func(sentence string) { program.Send(notice(sentence)) }
	group, reading := errgroup.WithContext(ctx)
	reading, stop := context.WithCancel(reading)
	if w.Run != nil {
		group.Go(func() error {
			err := w.Run(reading)
			program.Send(ended{err})
			return nil
		})
	}
	_, err := program.Run()
	stop()
	group.Wait()
	return m.outcome(ctx, err, o)
}

// outcome returns the error of a view whose program has ended with err.
func (m *view) outcome(ctx context.Context, err error, o Options) error {
	unmatched := o.noMatch(m.now.written, m.now.matched)
	if ctx.Err() != nil {
		return cmp.Or(unmatched, ctx.Err())
	}
	return cmp.Or(err, m.err, unmatched)
}

// ErrInterrupted is the error of a view that Ctrl-C ended.
var ErrInterrupted = errors.New("interrupted")

// Messages of the view.
type (
	notice    string
	ended     struct{ err error } // reading ended
	refreshed struct {
		snapshot
		err error
	}
	refreshNow struct{}
)

// view is the state of the view. It takes all times from messages.
type view struct {
	screen
	collector *collector     // used only by read, which bubbletea runs in its own goroutine
	read      func() tea.Msg // returns a refreshed message
	transient func(error) bool
	explain   func(error) error // explains the error of a refreshed message; may call AWS
	copy      func(text string)
	interval  time.Duration // between two reads
	title     string

	now       snapshot
	shown     snapshot // now, or the snapshot at the time of the pause
	paused    bool
	sort      string // title of a column
	reversed  bool
	filter    string
	filtering bool
	help      bool
	chosen    keyID
	moved     bool // the operator chose a key; otherwise the hottest is chosen
	detail    bool
	notice    string
	err       error // error that ended the view
}

// Intervals between reads: a live reader is in this process, a stack's heat is read from DynamoDB.
const (
	liveInterval  = time.Second
	stackInterval = 5 * time.Second
)

// Bounds of the time that the view covers.
const (
	minSpan = 15 * time.Minute
	maxSpan = time.Hour
)

func newView(ctx context.Context, w *Watched, o Options) *view {
	m := &view{
		screen:    screen{named: o.named, width: 80, height: 24},
		collector: o.collector(w), transient: w.transient, copy: func(string) {},
		explain:  func(err error) error { return w.explain(ctx, err) },
		interval: liveInterval, title: w.Name + ", " + w.Where, sort: all[0].title,
	}
	m.read = func() tea.Msg {
		now, err := m.collector.refresh(ctx, time.Now().UTC())
		return refreshed{now, err}
	}
	if w.Run == nil {
		m.interval = stackInterval
	}
	return m
}

// Init implements tea.Model.
func (m *view) Init() tea.Cmd { return m.read }

// Update implements tea.Model.
func (m *view) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = message.Width, message.Height
	case tea.KeyMsg:
		return m, m.key(message)
	case notice:
		m.notice = string(message)
	case ended:
		m.err = message.err
		return m, tea.Quit
	case refreshNow:
		return m, m.read
	case refreshed:
		switch {
		case message.err == nil && m.notice == cannotRead:
			m.notice = ""
		case message.err != nil && m.transient(message.err):
			m.notice = cannotRead
		case message.err != nil:
			return m, func() tea.Msg { return ended{m.explain(message.err)} }
		}
		m.now = message.snapshot
		if !m.paused {
			m.shown = m.now
		}
		return m, tea.Tick(m.interval, func(time.Time) tea.Msg { return refreshNow{} })
	}
	return m, nil
}

// keys returns the keys that are shown, in order.
func (m *view) keys() (keys []viewKey) {
	filter := strings.ToLower(m.filter)
	for _, k := range m.shown.keys {
		if strings.Contains(strings.ToLower(m.named(k.id.key)), filter) {
			keys = append(keys, k)
		}
	}
	by := all[slices.IndexFunc(all, func(c column) bool { return c.title == m.sort })].compare
	slices.SortFunc(keys, func(a, b viewKey) int {
		if m.reversed {
			return -by(a, b)
		}
		if order := by(a, b); order != 0 {
			return order
		}
		return byRate(a, b)
	})
	return keys
}

// View implements tea.Model. The lines fit the terminal's width and height.
func (m *view) View() string {
	lines := m.head()
	keys := m.keys()
	switch {
	case m.help:
		lines = append(lines, helpLines...)
	case len(keys) == 0:
		lines = append(lines, "", m.emptyReason())
	case m.detail:
		lines = append(lines, m.keyPage(keys[m.at(keys)])...)
	default:
		lines = append(lines, m.list(keys, m.at(keys), m.sort, m.reversed)...)
	}
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:max(0, min(len(lines), m.height-1))], m.foot())
	for i := range lines {
		lines[i] = lipgloss.NewStyle().MaxWidth(m.width).Render(lines[i])
	}
	return strings.Join(lines, "\n")
}

// emptyReason returns why the list is empty.
func (m *view) emptyReason() string {
	switch {
	case m.filter != "" && len(m.shown.keys) > 0:
		return fmt.Sprintf("  No key contains %q. Esc shows all keys.", m.filter)
	case m.shown.asOf.IsZero():
		return "  Reading. The first window is complete after about 12 s."
	case m.shown.written && !m.shown.matched:
		return "  No key matches --index and --prefix."
	}
	return "  No recent writes."
}

// head returns the lines above the list: the source and the filter, and the whole table's figures.
func (m *view) head() []string {
	clock := ""
	if !m.shown.at.IsZero() {
		clock = m.shown.at.Format(time.TimeOnly) + " UTC"
	}
	title := "hotshard top  " + terminal.Visible(m.title)
	first := bold.Render(terminal.Cut(title, max(10, m.width-len(clock)-2)))
	first += strings.Repeat(" ", max(1, m.width-lipgloss.Width(first)-len(clock))) + faint.Render(clock)
	second := ""
	if !m.shown.asOf.IsZero() {
		second = fmt.Sprintf("%s WCU/s   %d hot of %d keys   updated %v ago", heat.Grouped(m.shown.units), m.shown.hot, len(m.shown.keys), m.shown.at.Sub(m.shown.asOf).Round(time.Second))
		if m.shown.coverage < 1 {
			second += fmt.Sprintf("   %s of the window was read", percent(m.shown.coverage))
		}
	}
	if m.paused {
		second = turned.Render(" paused ") + " " + second
	}
	return []string{first, second, faint.Render(terminal.Visible(m.notice))}
}

// foot returns the help line, or the filter while the operator types it.
func (m *view) foot() string {
	if m.filtering {
		return "filter: " + terminal.Visible(m.filter) + turned.Render(" ") + faint.Render("  Enter keeps it, Esc drops it")
	}
	help := "q quit  ? help  / filter  Enter details  s sort  c copy advice  p pause"
	switch {
	case m.help:
		help = "any key goes back"
	case m.detail:
		help = "q quit  ↑↓ other keys  Enter or Esc back  c copy advice  p pause"
	}
	if m.filter != "" {
		help = "filter: " + terminal.Visible(m.filter) + "  Esc shows all  " + help
	}
	return faint.Render(help)
}
