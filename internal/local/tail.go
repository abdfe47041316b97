package local

import (
	"io"
	"strings"
	"sync"
)

// maxTail bounds what is kept of the engine's output, in bytes.
const maxTail = 8 << 10

// tail keeps the end of what is written to it, and passes everything on.
type tail struct {
	also io.Writer // nil for nobody

	mu  sync.Mutex
	buf []byte
}

// Write never fails: a broken log must not stop the engine.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - maxTail; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	if t.also != nil {
		t.also.Write(p)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
