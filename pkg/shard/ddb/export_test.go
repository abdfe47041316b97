package ddb

import "time"

// SetLead breaks the lead time of changes on purpose.
func (c *MapChanger) SetLead(d time.Duration) { c.lead = d }
