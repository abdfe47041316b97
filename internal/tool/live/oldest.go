package live

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/aws/streamshard"
)

// oldestPages is the maximum of pages of a stream shard that are read for its oldest record.
const oldestPages = 5

// Oldest returns the time of the stream's oldest record, at DynamoDB Local to the minute. It reads a
// few pages of the oldest stream shards, and returns the zero time if they have no record.
func (s *Sampler) Oldest(ctx context.Context) (oldest time.Time, err error) {
	s.link = newLink(s.Notify)
	st := streamshard.New(s.Streams, s.Found.Stream, s.Found.View)
	var list []streamshard.Shard
	if err := s.link.persist(ctx, "", patience, func() (err error) { list, err = st.Shards(ctx); return err }); err != nil {
		return oldest, explain(err)
	}
	known := make(map[string]bool)
	for _, shard := range list {
		known[shard.ID] = true
	}
	for _, shard := range list {
		if known[shard.Parent] {
			continue
		}
		first, err := s.sampling(st, shard.ID).oldest(ctx)
		if err != nil {
			return oldest, explain(err)
		}
		if first.IsZero() {
			return time.Time{}, nil // it may have older records than the others
		}
		if oldest.IsZero() || first.Before(oldest) {
			oldest = first
		}
	}
	return oldest, nil
}

// oldest returns the time of the stream shard's oldest record, zero if the first pages have none.
func (r *sampling) oldest(ctx context.Context) (time.Time, error) {
	for range oldestPages {
		page, err := r.pollPage(ctx)
		if err != nil {
			return time.Time{}, err
		}
		if len(page.Records) > 0 {
			return page.Records[0].Created, nil
		}
		if page.Closed {
			break
		}
	}
	return time.Time{}, nil
}
