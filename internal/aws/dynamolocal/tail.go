package dynamolocal

import (
	"strings"
	"sync"
)

// maxTail bounds the kept output of the engine, in bytes.
const maxTail = 8 << 10

// outputTail is a writer that keeps the end of the output.
type outputTail struct {
	mu  sync.Mutex
	buf []byte
}

// Write never fails.
func (t *outputTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - maxTail; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *outputTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
