package rollup

import (
	"context"
	"fmt"
	"slices"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/rollup/marks"
)

// acknowledge answers the marks of a batch before which everything was folded.
// Those behind a record that must come again come again with it.
func (d *delivery) acknowledge(ctx context.Context) {
	var list []marks.Mark
	for i := range d.batch.Records[:d.folded()] {
		if m, ok := marks.Of(&d.batch.Records[i]); ok {
			list = append(list, m)
		}
	}
	each(list, func(m marks.Mark) {
		err := m.Acknowledge(ctx, d.client, d.table, d.batch.ShardID, d.now())
		if err != nil && !permanent(err) { // else nobody can wait for it
			d.retry(fmt.Errorf("acknowledging a mark of %q: %w", m.PK, err), m.Sequence)
		}
	})
}

// folded is how many of the batch's first records need not come again.
func (d *delivery) folded() int {
	again := map[string]bool{}
	for _, sequence := range d.again {
		again[sequence] = true
	}
	at := slices.IndexFunc(d.batch.Records, func(r ddbstream.Record) bool { return again[string(r.Sequence)] })
	if at < 0 {
		return len(d.batch.Records)
	}
	return at
}
