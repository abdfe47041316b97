package libtest

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Late is a client whose single writes may be applied late: a held write times out, and Apply makes it.
type Late struct {
	*dynamodb.Client
	Hold func() bool // reports whether to hold the next write

	mu   sync.Mutex
	held []func()
	Held int // writes that were held so far
}

// Apply makes about one in oneIn of the held writes, in random order.
func (l *Late) Apply(random *rand.Rand, oneIn int) {
	l.mu.Lock()
	var now, still []func()
	for _, write := range l.held {
		if random.IntN(oneIn) == 0 {
			now = append(now, write)
		} else {
			still = append(still, write)
		}
	}
	l.held = still
	l.mu.Unlock()
	random.Shuffle(len(now), func(i, j int) { now[i], now[j] = now[j], now[i] })
	for _, write := range now {
		write()
	}
}

// do makes a write, or holds it and returns LostAnswer.
func (l *Late) do(ctx context.Context, write func(context.Context) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.Hold() {
		return write(ctx)
	}
	later := context.WithoutCancel(ctx)
	l.held, l.Held = append(l.held, func() { _ = write(later) }), l.Held+1
	return LostAnswer{}
}

func (l *Late) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.PutItemOutput, err error) {
	err = l.do(ctx, func(ctx context.Context) (err error) { out, err = l.Client.PutItem(ctx, in, o...); return err })
	return out, err
}

func (l *Late) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.UpdateItemOutput, err error) {
	err = l.do(ctx, func(ctx context.Context) (err error) { out, err = l.Client.UpdateItem(ctx, in, o...); return err })
	return out, err
}

func (l *Late) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.DeleteItemOutput, err error) {
	err = l.do(ctx, func(ctx context.Context) (err error) { out, err = l.Client.DeleteItem(ctx, in, o...); return err })
	return out, err
}
