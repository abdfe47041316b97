package httpapi

import (
	"time"

	"github.com/hotshard/hotshard/internal/schema"
)

// FormatTime gives a time as answers show it: RFC 3339 in UTC, milliseconds.
func FormatTime(t time.Time) string { return t.UTC().Format(schema.TimeLayout) }
