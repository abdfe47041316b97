package fold

import (
	"context"
	"fmt"
	"slices"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// acknowledge acknowledges the stream markers before which all records were folded. Lambda redelivers the other markers
// with the record that needs redelivery.
func (d *delivery) acknowledge(ctx context.Context) {
	var list []parts.Marker
	for i := range d.batch.Records[:d.countFolded()] {
		if m, ok := parts.MarkerOf(&d.batch.Records[i]); ok {
			list = append(list, m)
		}
	}
	forEach(list, func(m parts.Marker) {
		err := m.Acknowledge(ctx, d.client, d.table, d.batch.ShardID, d.now())
		if err != nil && !isPermanent(err) { // redelivery would not help the check that waits for the marker
			d.requestRedelivery(fmt.Errorf("acknowledging a stream marker of %q: %w", m.PK, err), m.Sequence)
		}
	})
}

// countFolded returns the number of records before the first that needs redelivery.
func (d *delivery) countFolded() int {
	redelivered := map[string]bool{}
	for _, sequence := range d.redeliver {
		redelivered[sequence] = true
	}
	first := slices.IndexFunc(d.batch.Records, func(r ddbstream.Record) bool { return redelivered[string(r.Sequence)] })
	if first < 0 {
		return len(d.batch.Records)
	}
	return first
}
