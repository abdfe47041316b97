package load

import (
	"context"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"
)

// sendAll calls send for each request, from a number of concurrent workers, at rate requests a second; 0 is unlimited. It
// returns the first error of send, of requests or of ctx, and then sends no more.
func sendAll(ctx context.Context, workers int, rate float64, requests iter.Seq2[Request, error], send func(context.Context, Request) error) error {
	group, ctx := errgroup.WithContext(ctx)
	queue := make(chan Request)
	group.Go(func() error {
		defer close(queue)
		return feedQueue(ctx, rate, requests, queue)
	})
	for range workers {
		group.Go(func() error {
			for request := range queue {
				if err := send(ctx, request); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// feedQueue sends each request to queue when it is due by rate, in requests a second; 0 is unlimited.
func feedQueue(ctx context.Context, rate float64, requests iter.Seq2[Request, error], queue chan<- Request) error {
	begin, fed := time.Now(), 0
	for request, err := range requests {
		if err != nil {
			return err
		}
		if rate > 0 {
			due := begin.Add(time.Duration(float64(fed) / rate * float64(time.Second)))
			if err := sleep(ctx, time.Until(due)); err != nil {
				return err
			}
		}
		fed++
		select {
		case queue <- request:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
