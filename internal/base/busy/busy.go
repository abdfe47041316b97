// Package busy lets tests on a machine that is busy give changes of the shard map more
// time than they have in use:
//
//	busy.SetCommit(changer, 20*time.Second)
package busy

import "time"

// SetCommit sets within what a *shardmap.Changer commits a change, or gives it up. Package
// shardmap puts it here, since nobody but tests may call it.
var SetCommit func(changer any, bound time.Duration)

// AnyTime lets a changer date its changes by the times that its callers pass, however wrong.
var AnyTime func(changer any)

// SetLead sets how long after a change the count comes into force, to break that on purpose.
var SetLead func(changer any, lead time.Duration)
