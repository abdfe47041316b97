package compact

import (
	"context"
	"errors"
	"slices"

	"github.com/hotshard/hotshard/internal/rollup/partial"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
)

// maxTransactions bounds those of one bucket; each takes 99 parts.
const maxTransactions = 300

// merge brings what the resting parts of a bucket hold into its merged part. A bucket
// into which something is folded meanwhile is left for the next round.
func (r *run) merge(ctx context.Context, b parts.Bucket) error {
	merged := 0
	for range maxTransactions {
		read, err := r.store.Read(ctx, b)
		if err != nil {
			return err
		}
		chosen, total, n := r.choose(b, read)
		if n == 0 {
			break
		}
		err = r.store.Replace(ctx, b, chosen, total)
		if errors.Is(err, parts.ErrMoved) {
			break
		}
		if err != nil {
			return err
		}
		merged += n
		r.answer.Merged += n
		if n < parts.MaxReplaced {
			break // there were no more
		}
	}
	if merged > 0 {
		r.answer.Buckets++
	}
	return nil
}

// choose returns the parts that one transaction is to merge, the merged part among
// them if there is one, what they come to, and how many will give what they have: 0
// if that would not make fewer. What has expired counts for nothing; a merged part
// that has is replaced.
func (r *run) choose(b parts.Bucket, read []parts.Part) (chosen []parts.Part, total partial.Partial, n int) {
	into := 0
	if at := slices.IndexFunc(read, func(p parts.Part) bool { return p.StreamShard == schema.MergedPart }); at >= 0 {
		chosen = append(chosen, read[at])
		if !read[at].Expired(r.now) && read[at].Holds() {
			total.Merge(read[at].Partial)
			into = 1
		}
	}
	for _, p := range read {
		old := r.resting(b, p.AsOf, !p.AsOf.IsZero())
		if p.StreamShard == schema.MergedPart || !p.Holds() || !old || p.Expired(r.now) || n == parts.MaxReplaced {
			continue
		}
		chosen = append(chosen, p)
		total.Merge(p.Partial)
		n++
	}
	if n+into < 2 {
		return nil, partial.Partial{}, 0
	}
	return chosen, total, n
}
