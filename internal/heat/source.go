package heat

import (
	"context"
	"iter"
	"time"
)

// Window is all that is known of the windows that start at one time.
type Window struct {
	Start      time.Time
	Items      []Item
	Unreadable []error
}

// Source is where heat comes from: a deployment's heat table, or a live reader of a stream.
type Source interface {
	// Windows goes through the windows that start at from or later and before to, in order of time. Their length is at most step where
	// the source has such, else the finest that it has; windows never overlap.
	Windows(ctx context.Context, from, to time.Time, step time.Duration) iter.Seq2[Window, error]
}
