package system

import (
	"strings"
	"testing"
)

// TestShardMapHasItsOwnLimit checks that the other tables' limit of 1 WCU/s does not throttle the shard map. The shard
// map's writes must be charged.
func TestShardMapHasItsOwnLimit(t *testing.T) {
	s, stop := startWith(t, func(o *Options) { o.Limits = Limits{Partitions: 4, PartitionWCU: 1, MapWCU: 1000} })
	defer stop()
	const changes = 20
	for n := range changes {
		body := `{"type":"counter","name":"pages","shards":3}`
		if n%2 == 1 {
			body = `{"type":"counter","name":"pages","shards":null}`
		}
		if status, text := send(t, "PUT", s.URL()+"/v1/shards", body); status != 200 {
			t.Errorf("change %d: %d %s", n, status, text)
		}
	}
	var units float64
	for _, table := range s.Charged().Spaces {
		if strings.HasSuffix(table.Table, "shard-map") {
			units += table.WriteUnits
		}
	}
	if units < changes {
		t.Errorf("%d changes cost %.0f write units, want %d or more", changes, units, changes)
	}
}
