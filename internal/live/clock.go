package live

import (
	"sync"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// clock tells the service's time, which records are stamped with: this machine's may be wrong.
// Each answer says the service's time to the second, so it bounds how far that is ahead.
type clock struct {
	mu          sync.Mutex
	known       bool
	least, most time.Duration // that the service's clock is ahead of this machine's
}

// take learns from an answer to a call that was sent then.
func (c *clock) take(answer middleware.Metadata, sent time.Time) {
	date, ok := awsmiddleware.GetServerTime(answer)
	if !ok {
		return
	}
	least, most := time.Until(date), date.Add(time.Second).Sub(sent)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known && least <= c.most && most >= c.least {
		least, most = max(least, c.least), min(most, c.most)
	} // else one of the clocks was set meanwhile
	c.known, c.least, c.most = true, least, most
}

// ahead is how far the service's clock is ahead at least and at most; 0 if the clocks may agree.
func (c *clock) ahead() (least, most time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.least <= 0 && c.most >= 0 {
		return 0, 0
	}
	return c.least, c.most
}

// earliest is the service's time at one of this machine's, or up to a second before it.
func (c *clock) earliest(t time.Time) time.Time {
	least, _ := c.ahead()
	return t.Add(least)
}

// latest is the service's time at one of this machine's, or up to a second after it.
func (c *clock) latest(t time.Time) time.Time {
	_, most := c.ahead()
	return t.Add(most)
}

// tolerated is by how much clocks may differ without a word.
const tolerated = 2 * time.Second

// tellSkew tells, once, if this machine's clock is wrong.
func (r *Reader) tellSkew() {
	least, most := r.stream.clock.ahead()
	if r.toldSkew || least <= tolerated && most >= -tolerated {
		return
	}
	r.toldSkew = true
	by, way := least, "behind"
	if most < 0 {
		by, way = -most, "ahead of"
	}
	r.tell("this machine's clock is %v %s the service's: windows go by the service's", by.Round(time.Second), way)
}
