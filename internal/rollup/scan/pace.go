package scan

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
)

// Pace has those who share it take so many units a second together, of reads or of
// writes. It is safe for concurrent use.
type Pace struct {
	rate int

	mu   sync.Mutex
	paid time.Time // until when what was taken is to last
}

// NewPace returns a Pace of so many units a second, by this machine's clock.
func NewPace(perSecond int) *Pace { return &Pace{rate: perSecond} }

// Spend waits for as long as what a call took, and what others took meanwhile, is to
// last; or until ctx ends, which is the error then.
func (p *Pace) Spend(ctx context.Context, used *types.ConsumedCapacity) error {
	return Wait(ctx, p.spend(used, time.Now()))
}

func (p *Pace) spend(used *types.ConsumedCapacity, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.After(p.paid) {
		p.paid = now
	}
	p.paid = p.paid.Add(Lasts(used, p.rate))
	return p.paid.Sub(now)
}

// Lasts is how long consumed units are to last at so many a second; 0 for unknown ones.
func Lasts(used *types.ConsumedCapacity, perSecond int) time.Duration {
	if used == nil || used.CapacityUnits == nil {
		return 0
	}
	return time.Duration(*used.CapacityUnits / float64(perSecond) * float64(time.Second))
}

// Wait waits, or until ctx ends, which is the error then.
func Wait(ctx context.Context, d time.Duration) error {
	dynamo.Pause(ctx, d)
	return ctx.Err()
}
