// Package busy lets tests change the bounds of a *shardmap.Changer, for a busy machine or to break a guarantee on
// purpose:
//
//	busy.SetCommit(changer, 20*time.Second)
//
// Package shardmap sets its functions, which other code must not call.
package busy

import "time"

// SetCommit sets the time within which a changer must commit a change.
var SetCommit func(changer any, bound time.Duration)

// AnyTime makes a changer date its changes by the times that its callers pass, however wrong.
var AnyTime func(changer any)
