package ddb

import "time"

// SetLead breaks the lead time of changes on purpose.
func (c *MapChanger) SetLead(d time.Duration) { c.lead = d }

// SetCommit lets changes take longer than CommitTime, on machines that are busy.
func (c *MapChanger) SetCommit(d time.Duration) { c.bound = d }
