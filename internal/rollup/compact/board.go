package compact

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hotshard/hotshard/internal/rollup/histogram"
	"github.com/hotshard/hotshard/internal/schema"
)

// standing is a board's period, of which the histogram has parts.
type standing struct{ board, period string }

func (s standing) String() string { return schema.BoardRollupKey(s.board, s.period) }

// merge works from one reading. Damaged parts stay as they are.
func (s standing) merge(ctx context.Context, r *run) error {
	read, err := r.cells.Read(ctx, s.board, s.period)
	if err != nil {
		return err
	}
	err = r.steps(ctx, s, &r.answer.Boards, func() (n int, units float64, err error) {
		chosen := histogram.Choose(read, r.now, r.rests)
		if len(chosen) == 0 {
			return 0, 0, nil
		}
		done, err := r.cells.Replace(ctx, s.board, s.period, chosen, histogram.Sum(chosen, r.now), nil)
		read = append(histogram.Without(read, chosen), done.Merged)
		return done.Emptied, done.WriteUnits, err
	})
	return errors.Join(err, damage(read))
}

// rests tells whether nothing was folded into a part for long.
func (r *run) rests(p histogram.Part) bool { return !p.AsOf.IsZero() && r.now.Sub(p.AsOf) > rest }

// damage says which of the parts can't be read.
func damage(read []histogram.Part) error {
	var faults []error
	for _, p := range read {
		if p.Damage != nil {
			faults = append(faults, fmt.Errorf("the part %q stays: %w", p.StreamShard, p.Damage))
		}
	}
	return errors.Join(faults...)
}

// standingOf returns whose histogram's part an item of the table is.
func standingOf(pk, sk string) (s standing, streamShard string, ok bool) {
	streamShard, ok = strings.CutPrefix(sk, schema.HistogramPrefix)
	if !ok || !strings.HasPrefix(pk, schema.BaseKey{Type: schema.Board}.String()) {
		return s, "", false
	}
	target, err := schema.ParseTarget(pk)
	return standing{target.Base.Name, target.Period}, streamShard, err == nil
}
