package hotkey

import (
	"sync"
	"time"
)

// budget bounds the different names that get metrics of their own in one hour of
// the clock. It is this process's alone: with several, the ceiling is that many
// times as high.
type budget struct {
	mu    sync.Mutex
	limit int
	hour  time.Time
	names map[string]bool
}

// allow reports whether a name may be used now; one that was, may be again.
func (b *budget) allow(name string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if hour := now.Truncate(time.Hour); !hour.Equal(b.hour) || b.names == nil {
		b.hour, b.names = hour, make(map[string]bool)
	}
	if !b.names[name] && len(b.names) >= b.limit {
		return false
	}
	b.names[name] = true
	return true
}
