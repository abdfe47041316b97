package compact

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/rollup/partial"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/rollup/scan"
	"github.com/hotshard/hotshard/internal/schema"
)

// summary is something that has a part for each stream shard.
type summary interface {
	String() string
	// merge brings what its resting parts hold into its merged part.
	merge(context.Context, *run) error
}

// rollup is an event rollup.
type rollup struct{ parts.Bucket }

// merge works from one reading: each transaction is conditional on it.
func (b rollup) merge(ctx context.Context, r *run) error {
	read, err := r.store.Read(ctx, b.Bucket)
	if err != nil {
		return err
	}
	return r.steps(ctx, b, &r.answer.Buckets, func() (n int, units float64, err error) {
		chosen, total, n := r.choose(b.Bucket, read)
		if n == 0 {
			return 0, 0, nil
		}
		done, err := r.store.Replace(ctx, b.Bucket, chosen, total, nil)
		read = append(without(read, chosen), done.Merged)
		return n, done.WriteUnits, err
	})
}

// steps merges by one transaction after another until nothing is left to merge, and
// counts the summary if there was something. One into which something is folded
// meanwhile is left for the next round; one of which the run's end left something,
// for the next run.
func (r *run) steps(ctx context.Context, of summary, count *int, step func() (n int, units float64, err error)) error {
	for first := true; ; first = false {
		n, units, err := step()
		switch {
		case errors.Is(err, parts.ErrMoved):
			return nil
		case refused(err):
			r.log.WarnContext(ctx, "its parts stay: what they come to can't be stored as one", "summary", of.String(), "error", err)
			return nil
		case err != nil || n == 0:
			return err
		}
		if r.answer.Merged += n; first {
			*count++
		}
		if !r.spend(ctx, units) {
			r.late = true
			return nil
		}
	}
}

// refused tells whether DynamoDB never takes what was to be stored: an item that is
// too large, or a number with too many digits.
func refused(err error) bool {
	answer, ok := errors.AsType[smithy.APIError](err)
	return ok && answer.ErrorCode() == "ValidationException"
}

// spend waits for as long as write units are to last; false if the run is to end
// before that.
func (r *run) spend(ctx context.Context, units float64) bool {
	d := time.Duration(units / float64(r.options.WriteUnits) * float64(time.Second))
	return time.Now().Add(d).Before(r.end) && scan.Wait(ctx, d)
}

// without returns the parts that are not among those chosen.
func without(read, chosen []parts.Part) []parts.Part {
	gone := map[string]bool{}
	for _, p := range chosen {
		gone[p.StreamShard] = true
	}
	return slices.DeleteFunc(read, func(p parts.Part) bool { return gone[p.StreamShard] })
}

// choose returns the parts that one transaction is to merge, the merged part among
// them if there is one, what they come to, and how many will give what they have: 0
// if that would not make fewer. What has expired counts for nothing; a merged part
// that has is replaced. A part that would bring the merged one above its bound of
// fields stays as it is, so that readers see all fields that they saw.
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
		if p.StreamShard == schema.MergedPart || !p.Holds() || !old || p.Expired(r.now) || n == parts.MaxReplaced || fields(total, p.Partial) > parts.MaxFields {
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

// fields counts those of two parts together.
func fields(p, q partial.Partial) int {
	n := len(p.Measures)
	for field := range q.Measures {
		if _, known := p.Measures[field]; !known {
			n++
		}
	}
	return n
}
