package heatview

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"
)

// cannotRead is shown while heat can't be read from DynamoDB.
const cannotRead = "Disconnected: DynamoDB does not answer. Reconnecting; no action needed."

// key handles a key press.
func (m *view) key(k tea.KeyMsg) tea.Cmd {
	if k.Type == tea.KeyCtrlC {
		m.err = ErrInterrupted
		return tea.Quit
	}
	if len(k.Runes) > 1 { // fast typing, or a paste
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
	if m.help {
		m.help = false
		return nil
	}
	switch k.String() {
	case "q":
		return tea.Quit
	case "?", "h":
		m.help = true
	case "c":
		m.copied(func(k viewKey) string { return m.named(k.id.key) + ": " + k.advice }, "Advice")
	case "y":
		m.copied(func(k viewKey) string { return m.named(k.id.key) }, "Key")
	case "up", "k":
		m.moveCursor(-1)
	case "down", "j":
		m.moveCursor(1)
	case "pgup":
		m.moveCursor(-m.room())
	case "pgdown":
		m.moveCursor(m.room())
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
		m.sortNext()
	case "r":
		m.reversed = !m.reversed
	case "/":
		m.filtering, m.detail = true, false
	case "p", " ":
		m.paused = !m.paused
		m.shown = m.now
	}
	return nil
}

// copied copies a text about the chosen key.
func (m *view) copied(text func(viewKey) string, what string) {
	if keys := m.keys(); len(keys) > 0 {
		m.copy(text(keys[m.at(keys)]))
		m.notice = what + " copied."
	}
}

// sortNext sorts by the next visible column.
func (m *view) sortNext() {
	columns := m.columns(m.shown.keys)
	at := slices.IndexFunc(columns, func(c column) bool { return c.title == m.sort })
	m.sort, m.reversed = columns[(at+1)%len(columns)].title, false
}

// typed handles a key press while the operator types a filter.
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

// hold keeps the selection when the list changes.
func (m *view) hold() {
	if keys := m.keys(); len(keys) > 0 {
		at := m.at(keys)
		m.chosen, m.moved = keys[at].id, true
	}
}

func (m *view) moveCursor(by int) {
	keys := m.keys()
	if len(keys) == 0 {
		return
	}
	at := min(max(m.at(keys)+by, 0), len(keys)-1)
	m.chosen, m.moved = keys[at].id, true
}

// at returns the index of the selected key, or of the first key if the selected one is not listed.
func (m *view) at(keys []viewKey) int {
	if !m.moved {
		return 0
	}
	return max(0, slices.IndexFunc(keys, func(k viewKey) bool { return k.id == m.chosen }))
}
