package dynamo

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Pace limits the read or write units that all its users together consume in a second. It is safe for concurrent use.
type Pace struct {
	rate int // units a second

	mu   sync.Mutex
	paid time.Time // when the rate will have allowed all units that were spent
}

// NewPace returns a Pace of perSecond units a second. It uses this machine's clock.
func NewPace(perSecond int) *Pace { return &Pace{rate: perSecond} }

// Spend waits until the consumed units of this and all earlier calls fit the rate. It returns ctx's error if ctx ends first.
func (p *Pace) Spend(ctx context.Context, used *types.ConsumedCapacity) error {
	return WaitFor(ctx, p.spend(used, time.Now()))
}

// spend adds consumed units, and returns how long the caller has to wait.
func (p *Pace) spend(used *types.ConsumedCapacity, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.After(p.paid) {
		p.paid = now
	}
	p.paid = p.paid.Add(CapacityTime(used, p.rate))
	return p.paid.Sub(now)
}

// CapacityTime returns how long the used units last at perSecond units a second. It returns 0 if used is nil or has no
// CapacityUnits.
func CapacityTime(used *types.ConsumedCapacity, perSecond int) time.Duration {
	if used == nil || used.CapacityUnits == nil {
		return 0
	}
	return time.Duration(*used.CapacityUnits / float64(perSecond) * float64(time.Second))
}

// WaitFor waits for d. It returns ctx's error if ctx ends first.
func WaitFor(ctx context.Context, d time.Duration) error {
	Pause(ctx, d)
	return ctx.Err()
}
