package load

import (
	"context"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"
)

// pump passes batches to concurrent workers at rate requests per second (0: unlimited). It ends with the batches, or with
// a worker's first error.
func pump(ctx context.Context, workers int, rate float64, batches iter.Seq2[[]Request, error],
	send func(context.Context, []Request) error) error {
	group, ctx := errgroup.WithContext(ctx)
	queue := make(chan []Request)
	group.Go(func() error {
		defer close(queue)
		return feed(ctx, rate, batches, queue)
	})
	for range workers {
		group.Go(func() error {
			for batch := range queue {
				if err := send(ctx, batch); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func feed(ctx context.Context, rate float64, batches iter.Seq2[[]Request, error], queue chan<- []Request) error {
	begin, fed := time.Now(), 0
	for batch, err := range batches {
		if err != nil {
			return err
		}
		if rate > 0 {
			due := begin.Add(time.Duration(float64(fed) / rate * float64(time.Second)))
			if err := sleep(ctx, time.Until(due)); err != nil {
				return err
			}
		}
		fed += len(batch)
		select {
		case queue <- batch:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// chunks splits a sequence of requests into slices of n, each newly allocated.
func chunks(requests iter.Seq2[Request, error], n int) iter.Seq2[[]Request, error] {
	return func(yield func([]Request, error) bool) {
		var chunk []Request
		for r, err := range requests {
			if err != nil {
				yield(nil, err)
				return
			}
			chunk = append(chunk, r)
			if len(chunk) == n {
				if !yield(chunk, nil) {
					return
				}
				chunk = nil
			}
		}
		if len(chunk) > 0 {
			yield(chunk, nil)
		}
	}
}
