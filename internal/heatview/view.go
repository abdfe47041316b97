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
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/terminal"
)

// Show runs the terminal's view until it is quit, or ctx ends.
func Show(ctx context.Context, out *os.File, w *Watched, o Options) error {
	m := newView(ctx, w, o)
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithAltScreen(), tea.WithOutput(out), tea.WithoutSignalHandler())
	if w.Notices != nil {
		w.Notices.to(func(sentence string) { program.Send(notice(sentence)) })
	}
	group, reading := errgroup.WithContext(ctx)
	reading, stop := context.WithCancel(reading)
	if w.Run != nil {
		group.Go(func() error {
			err := w.Run(reading)
			program.Send(ended{err})
			return nil
		})
	}
	last, err := program.Run()
	stop()
	group.Wait()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil { // told to end
		return nil
	}
	if err != nil {
		return err
	}
	return last.(*view).err
}

// Messages of the view.
type (
	notice string
	ended  struct{ err error } // reading ended
	looked struct {
		look
		err error
	}
	lookNow struct{}
)

// view is the state of the view. It takes all times from messages.
type view struct {
	screen
	read     func() tea.Msg // makes a looked
	interval time.Duration  // between two
	title    string

	now       look
	shown     look // now, or what was there when it was paused
	paused    bool
	sort      int // of sorts
	filter    string
	filtering bool
	chosen    keyID
	moved     bool // the operator chose a key; else the hottest is
	detail    bool
	notice    string
	err       error // that ended it
}

// Intervals of looking: a live reader is in this process, a stack's heat is read from DynamoDB.
const (
	liveInterval  = time.Second
	stackInterval = 5 * time.Second
)

// minSpan is how far back the view of one key goes, at least.
const minSpan = 15 * time.Minute

func newView(ctx context.Context, w *Watched, o Options) *view {
	l := &looker{w: w, keep: o.keep, span: max(minSpan, o.Span), next: o.Since}
	m := &view{
		screen: screen{named: o.named, width: 80, height: 24},
		read: func() tea.Msg {
			now, err := l.look(ctx, time.Now().UTC())
			return looked{now, err}
		},
		interval: liveInterval, title: w.Name + ", " + w.Where,
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
	case lookNow:
		return m, m.read
	case looked:
		if message.err != nil {
			m.err = message.err
			return m, tea.Quit
		}
		m.now = message.look
		if !m.paused {
			m.shown = m.now
		}
		return m, tea.Tick(m.interval, func(time.Time) tea.Msg { return lookNow{} })
	}
	return m, nil
}

// key does what a key of the keyboard stands for.
func (m *view) key(k tea.KeyMsg) tea.Cmd {
	if k.Type == tea.KeyCtrlC {
		return tea.Quit
	}
	if len(k.Runes) > 1 { // typed faster than read, or pasted
		for _, r := range k.Runes {
			if quit := m.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}}); quit != nil {
				return quit
			}
		}
		return nil
	}
	if m.filtering {
		m.typed(k)
		return nil
	}
	switch k.String() {
	case "q":
		return tea.Quit
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup":
		m.move(-m.room())
	case "pgdown":
		m.move(m.room())
	case "home", "g":
		m.moved = false
	case "enter":
		m.detail = !m.detail
		m.hold()
	case "esc":
		switch {
		case m.detail:
			m.detail = false
		default:
			m.filter = ""
		}
	case "s":
		m.sort = (m.sort + 1) % len(sorts)
	case "/":
		m.filtering, m.detail = true, false
	case "p", " ":
		m.paused = !m.paused
		m.shown = m.now
	}
	return nil
}

// typed takes a key while a prefix is typed.
func (m *view) typed(k tea.KeyMsg) {
	switch k.Type {
	case tea.KeyEnter:
		m.filtering = false
	case tea.KeyEsc:
		m.filtering, m.filter = false, ""
	case tea.KeyBackspace:
		if r := []rune(m.filter); len(r) > 0 {
			m.filter = string(r[:len(r)-1])
		}
	case tea.KeyRunes, tea.KeySpace:
		m.filter += string(k.Runes)
	}
}

// hold keeps the chosen key chosen, wherever it goes.
func (m *view) hold() {
	if keys := m.keys(); len(keys) > 0 {
		at := m.at(keys)
		m.chosen, m.moved = idOf(&keys[at].row), true
	}
}

func (m *view) move(by int) {
	keys := m.keys()
	if len(keys) == 0 {
		return
	}
	at := min(max(m.at(keys)+by, 0), len(keys)-1)
	m.chosen, m.moved = idOf(&keys[at].row), true
}

// at is which key is chosen: the first, if that one is not there.
func (m *view) at(keys []viewKey) int {
	if !m.moved {
		return 0
	}
	return max(0, slices.IndexFunc(keys, func(k viewKey) bool { return idOf(&k.row) == m.chosen }))
}

// sorts are the orders of keys.
var sorts = [...]struct {
	name    string
	compare func(a, b viewKey) int
}{
	{"rate", func(a, b viewKey) int { return cmp.Compare(b.row.WriteUnitsPerSecond, a.row.WriteUnitsPerSecond) }},
	{"rise", func(a, b viewKey) int { return cmp.Compare(b.rise(), a.rise()) }},
	{"key", func(a, b viewKey) int { return 0 }},
}

// rise is by how much the rate is above the mean of the windows before.
func (k *viewKey) rise() float64 {
	var sum float64
	n := max(len(k.rates)-2, 0)
	before := k.rates[max(0, n-5):n]
	for _, r := range before {
		sum += r
	}
	return k.row.WriteUnitsPerSecond - sum/float64(max(len(before), 1))
}

// keys are those that are shown, in order.
func (m *view) keys() (keys []viewKey) {
	for _, k := range m.shown.keys {
		if strings.HasPrefix(m.named(k.row.Key), m.filter) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b viewKey) int {
		return cmp.Or(sorts[m.sort].compare(a, b), strings.Compare(a.row.Key, b.row.Key), strings.Compare(a.row.Index, b.row.Index), strings.Compare(a.row.Table, b.row.Table))
	})
	return keys
}

// View implements tea.Model. No line is wider than the terminal, and there are no more.
func (m *view) View() string {
	lines := m.head()
	keys := m.keys()
	switch {
	case len(keys) == 0:
		lines = append(lines, "", m.nothing())
	case m.detail:
		lines = append(lines, m.one(keys[m.at(keys)])...)
	default:
		lines = append(lines, m.list(keys, m.at(keys))...)
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

// nothing says why there is no key.
func (m *view) nothing() string {
	switch {
	case m.filter != "" && len(m.shown.keys) > 0:
		return fmt.Sprintf("  No key begins with %q. Esc shows all.", m.filter)
	case m.shown.windows == 0:
		return "  Listening. The first keys are here as soon as something is written."
	}
	return "  Nothing is written now."
}

// head tells what is shown, and the whole table's figures.
func (m *view) head() []string {
	right := ""
	if !m.shown.at.IsZero() {
		right = m.shown.at.Format(time.TimeOnly) + " UTC"
	}
	title := "hotshard top  " + terminal.Visible(m.title)
	first := bold.Render(terminal.Cut(title, max(10, m.width-len(right)-2)))
	first += strings.Repeat(" ", max(1, m.width-lipgloss.Width(first)-len(right))) + faint.Render(right)
	second := fmt.Sprintf("%s units/s   %d hot of %d keys   coverage %s", amount(m.shown.units), m.shown.hot, len(m.shown.keys), percent(m.shown.coverage))
	if m.paused {
		second = turned.Render(" paused ") + " " + second
	}
	if m.notice != "" {
		second += "   " + faint.Render(terminal.Visible(m.notice))
	}
	return []string{first, second, ""}
}

// foot is the help line, or the prefix that is typed.
func (m *view) foot() string {
	if m.filtering {
		return "keys that begin with: " + terminal.Visible(m.filter) + turned.Render(" ") + faint.Render("  enter keeps it, esc drops it")
	}
	help := "q quit  ↑↓ choose  enter minutes  s sort: " + sorts[m.sort].name + "  / prefix  p pause"
	if m.detail {
		help = "q quit  ↑↓ other keys  enter or esc back  p pause"
	}
	if m.filter != "" {
		help += "  (" + terminal.Visible(m.filter) + "…)"
	}
	return faint.Render(help)
}
