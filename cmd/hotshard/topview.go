package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	pretty "github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/live"
)

// view runs the terminal's view until it is quit.
func (c *TopCmd) view(ctx context.Context, out *os.File, w *watched, since time.Time) error {
	m := c.newTopView(ctx, w, since)
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithAltScreen(), tea.WithOutput(out), tea.WithoutSignalHandler())
	w.notices.to(func(sentence string) { program.Send(notice(sentence)) })
	group, reading := errgroup.WithContext(ctx)
	reading, stop := context.WithCancel(reading)
	if w.run != nil {
		group.Go(func() error {
			err := w.run(reading)
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
	return last.(*topView).err
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

// topView is the state of the view. It takes all times from messages.
type topView struct {
	read     func() tea.Msg // makes a looked
	interval time.Duration  // between two
	title    string
	named    func(key string) string

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
	width     int
	height    int
	err       error // that ended it
}

// Intervals of looking: a live reader is in this process, a stack's heat is read from DynamoDB.
const (
	liveInterval  = time.Second
	stackInterval = 5 * time.Second
)

// minSpan is how far back the view of one key goes, at least.
const minSpan = 15 * time.Minute

func (c *TopCmd) newTopView(ctx context.Context, w *watched, since time.Time) *topView {
	l := &looker{w: w, keep: c.filtered, span: max(minSpan, c.Since), next: since}
	m := &topView{
		read: func() tea.Msg {
			now, err := l.look(ctx, time.Now().UTC())
			return looked{now, err}
		},
		interval: liveInterval, title: w.name + ", " + w.where, named: c.named, width: 80, height: 24,
	}
	if w.run == nil {
		m.interval = stackInterval
	}
	return m
}

// Init implements tea.Model.
func (m *topView) Init() tea.Cmd { return m.read }

// Update implements tea.Model.
func (m *topView) Update(message tea.Msg) (tea.Model, tea.Cmd) {
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
func (m *topView) key(k tea.KeyMsg) tea.Cmd {
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
func (m *topView) typed(k tea.KeyMsg) {
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
func (m *topView) hold() {
	if keys := m.keys(); len(keys) > 0 {
		at := m.at(keys)
		m.chosen, m.moved = idOf(&keys[at].row), true
	}
}

func (m *topView) move(by int) {
	keys := m.keys()
	if len(keys) == 0 {
		return
	}
	at := min(max(m.at(keys)+by, 0), len(keys)-1)
	m.chosen, m.moved = idOf(&keys[at].row), true
}

// at is which key is chosen: the first, if that one is not there.
func (m *topView) at(keys []topKey) int {
	if !m.moved {
		return 0
	}
	return max(0, slices.IndexFunc(keys, func(k topKey) bool { return idOf(&k.row) == m.chosen }))
}

// sorts are the orders of keys.
var sorts = [...]struct {
	name    string
	compare func(a, b topKey) int
}{
	{"rate", func(a, b topKey) int { return cmp.Compare(b.row.WriteUnitsPerSecond, a.row.WriteUnitsPerSecond) }},
	{"rise", func(a, b topKey) int { return cmp.Compare(b.rise(), a.rise()) }},
	{"key", func(a, b topKey) int { return 0 }},
}

// rise is by how much the rate is above the mean of the windows before.
func (k *topKey) rise() float64 {
	var sum float64
	n := max(len(k.rates)-2, 0)
	before := k.rates[max(0, n-5):n]
	for _, r := range before {
		sum += r
	}
	return k.row.WriteUnitsPerSecond - sum/float64(max(len(before), 1))
}

// keys are those that are shown, in order.
func (m *topView) keys() (keys []topKey) {
	for _, k := range m.shown.keys {
		if strings.HasPrefix(m.named(k.row.Key), m.filter) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b topKey) int {
		return cmp.Or(sorts[m.sort].compare(a, b), strings.Compare(a.row.Key, b.row.Key), strings.Compare(a.row.Index, b.row.Index), strings.Compare(a.row.Table, b.row.Table))
	})
	return keys
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

func (m *topView) room() int { return max(1, m.height-3-adviceLines-2) }

// View implements tea.Model. No line is wider than the terminal, and there are no more.
func (m *topView) View() string {
	lines := m.head()
	keys := m.keys()
	switch {
	case len(keys) == 0:
		lines = append(lines, "", m.nothing())
	case m.detail:
		lines = append(lines, m.one(keys[m.at(keys)])...)
	default:
		lines = append(lines, m.list(keys)...)
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
func (m *topView) nothing() string {
	switch {
	case m.filter != "" && len(m.shown.keys) > 0:
		return fmt.Sprintf("  No key begins with %q. Esc shows all.", m.filter)
	case m.shown.windows == 0:
		return "  Listening. The first keys are here as soon as something is written."
	}
	return "  Nothing is written now."
}

// head tells what is shown, and the whole table's figures.
func (m *topView) head() []string {
	right := ""
	if !m.shown.at.IsZero() {
		right = m.shown.at.Format(time.TimeOnly) + " UTC"
	}
	title := "hotshard top  " + visible(m.title)
	first := bold.Render(cutTo(title, max(10, m.width-len(right)-2)))
	first += strings.Repeat(" ", max(1, m.width-lipgloss.Width(first)-len(right))) + faint.Render(right)
	second := fmt.Sprintf("%s units/s   %d hot of %d keys   coverage %s", amount(m.shown.units), m.shown.hot, len(m.shown.keys), percent(m.shown.coverage))
	if m.paused {
		second = turned.Render(" paused ") + " " + second
	}
	if m.notice != "" {
		second += "   " + faint.Render(visible(m.notice))
	}
	return []string{first, second, ""}
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

// foot is the help line, or the prefix that is typed.
func (m *topView) foot() string {
	if m.filtering {
		return "keys that begin with: " + visible(m.filter) + turned.Render(" ") + faint.Render("  enter keeps it, esc drops it")
	}
	help := "q quit  ↑↓ choose  enter minutes  s sort: " + sorts[m.sort].name + "  / prefix  p pause"
	if m.detail {
		help = "q quit  ↑↓ other keys  enter or esc back  p pause"
	}
	if m.filter != "" {
		help += "  (" + visible(m.filter) + "…)"
	}
	return faint.Render(help)
}

// Widths of columns; the key's and the index's depend on the terminal's.
const (
	statusWidth = 9
	rateWidth   = 8
	errorWidth  = 6
	shareWidth  = 6
	trendWidth  = 8
	shardsWidth = 4
)

// list is the table of keys, and what to do about the chosen one.
func (m *topView) list(keys []topKey) []string {
	indexed := slices.ContainsFunc(keys, func(k topKey) bool { return k.row.Index != "" })
	sharded := slices.ContainsFunc(keys, func(k topKey) bool { return k.shards > 0 })
	wide := m.width >= 60
	width := m.width - 2 - (statusWidth + 1) - (rateWidth + 1) - (shareWidth + 1)
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
	at, room := m.at(keys), m.room()
	first := max(0, at-room+1)
	for i := first; i < len(keys) && i < first+room; i++ {
		k := keys[i]
		shards := ""
		if k.shards > 0 {
			shards = fmt.Sprint(k.shards)
		}
		text := row(visible(m.named(k.row.Key)), visible(k.row.Index), k.row.Status.String(), rateText(k.row.WriteUnitsPerSecond),
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
	return append(append(lines, ""), m.advice(keys[at], adviceLines)...)
}

// advice is what to do about a key, in few lines.
func (m *topView) advice(k topKey, most int) []string {
	text := visible(m.named(k.row.Key)) + ": " + visible(k.advice)
	lines := strings.Split(pretty.WrapSoft(text, max(20, m.width-2)), "\n")
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
	text = cutTo(text, width)
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
func (m *topView) one(k topKey) []string {
	const axis = 9
	name := cutTo(visible(m.named(k.row.Key)), max(10, m.width-2))
	lines := []string{styles[k.row.Status].Render(name)}
	facts := fmt.Sprintf("%s, at least %s units/s (+%s at most), %s of a partition, %d in its heaviest second", k.row.Status,
		rateText(k.row.WriteUnitsPerSecond), rateText(math.Ceil(10*k.row.Error)/10), percent(k.row.WriteUnitsPerSecond/k.row.Limit), k.row.Peak)
	if k.row.Index != "" {
		facts = "index " + visible(k.row.Index) + ": " + facts
	}
	if k.shards > 0 {
		facts += fmt.Sprintf(", N %d", k.shards)
	}
	lines = append(lines, strings.Split(pretty.WrapSoft(facts, max(20, m.width-1)), "\n")...)
	advice := m.advice(k, 6)
	height := max(2, m.height-3-len(lines)-len(advice)-5)
	width := max(4, m.width-axis-1)
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
	lines = append(lines, faint.Render(right("units/s", axis-2)+" └"+left(durationText(span)+" ago", max(8, len(rates)-4))+" now"), "")
	return append(lines, advice...)
}
