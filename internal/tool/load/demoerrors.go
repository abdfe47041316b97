package load

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// ErrorCounts is a [slog.Handler] that counts errors by their message, so that a thousand errors with one message are one
// line. It drops records below [slog.LevelError]. The zero value is ready to use, by several goroutines too.
type ErrorCounts struct {
	mu    sync.Mutex
	kinds []errorKind // in order of their first errors
}

// errorKind has the errors with one message.
type errorKind struct {
	message, first string // first has the first error's attributes
	count          int
}

// Enabled implements [slog.Handler].
func (e *ErrorCounts) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError
}

// WithAttrs implements [slog.Handler]. It ignores the attributes.
func (e *ErrorCounts) WithAttrs([]slog.Attr) slog.Handler { return e }

// WithGroup implements [slog.Handler]. It ignores the group.
func (e *ErrorCounts) WithGroup(string) slog.Handler { return e }

// Handle implements [slog.Handler]. It counts the record.
func (e *ErrorCounts) Handle(_ context.Context, r slog.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.kinds {
		if e.kinds[i].message == r.Message {
			e.kinds[i].count++
			return nil
		}
	}
	var first []string
	r.Attrs(func(a slog.Attr) bool {
		first = append(first, a.String())
		return true
	})
	e.kinds = append(e.kinds, errorKind{r.Message, strings.Join(first, " "), 1})
	return nil
}

// TakeLines returns a line for each message since the last call, with its count and first attributes. It resets the counts.
func (e *ErrorCounts) TakeLines() (lines []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, k := range e.kinds {
		count := "1 error"
		if k.count > 1 {
			count = fmt.Sprintf("%d errors, the first", k.count)
		}
		lines = append(lines, fmt.Sprintf("%s: %s %s", count, k.message, k.first))
	}
	e.kinds = nil
	return lines
}
