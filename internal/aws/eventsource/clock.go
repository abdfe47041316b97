package eventsource

import (
	"sync"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// Clock estimates the service's time, with which records are stamped, since this machine's clock may be wrong. Each answer
// has the service's time to the second, which bounds the difference.
type Clock struct {
	mu          sync.Mutex
	known       bool
	least, most time.Duration // bounds of the service's time minus this machine's
}

// observe narrows the bounds by an answer to a call that was sent at a time.
func (c *Clock) observe(answer middleware.Metadata, sent time.Time) {
	date, ok := awsmiddleware.GetServerTime(answer)
	if !ok {
		return
	}
	least, most := time.Until(date), date.Add(time.Second).Sub(sent)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known && least <= c.most && most >= c.least {
		least, most = max(least, c.least), min(most, c.most)
	} // else one of the clocks was set in between
	c.known, c.least, c.most = true, least, most
}

// Ahead returns the bounds of the service's time minus this machine's; 0 if the clocks may agree.
func (c *Clock) Ahead() (least, most time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.least <= 0 && c.most >= 0 {
		return 0, 0
	}
	return c.least, c.most
}

// Earliest returns the service's time at a time of this machine's, or up to a second before it.
func (c *Clock) Earliest(t time.Time) time.Time {
	least, _ := c.Ahead()
	return t.Add(least)
}

// Latest returns the service's time at a time of this machine's, or up to a second after it.
func (c *Clock) Latest(t time.Time) time.Time {
	_, most := c.Ahead()
	return t.Add(most)
}
