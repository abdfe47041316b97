package dynamolocal

import (
	"testing"
	"time"
)

// TestCreationTime checks that a record keeps the minute of its creation, with the second at which it was read.
func TestCreationTime(t *testing.T) {
	minute := time.Unix(1700000040, 0)
	for _, tt := range []struct{ read, want time.Duration }{
		{0, 0}, {7 * time.Second, 7 * time.Second}, {59 * time.Second, 59 * time.Second},
		{60 * time.Second, 59 * time.Second}, {time.Hour, 59 * time.Second},
	} {
		if got := CreationTime(minute, minute.Add(tt.read)); got != minute.Add(tt.want) {
			t.Errorf("read after %v: %v after the minute, want %v", tt.read, got.Sub(minute), tt.want)
		}
	}
}
