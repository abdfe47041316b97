package schema

import (
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// The names that have their own metrics in an hour are an item of the heat table:
//
//	pk         S     M#<hour>, such as M#2026-01-05T13
//	sk         S     -
//	v          N     1
//	digests    BS    the first 12 bytes of SHA-256 of each <table>/<name>
//	expires_at N     Unix seconds
const metricNamesPrefix = "M#"

// MetricNamesVersion is the version of that form.
const MetricNamesVersion = "1"

// MetricNamesKey returns the primary key of an hour's item.
func MetricNamesKey(hour time.Time) (pk, sk string) {
	return metricNamesPrefix + shard.Hour.Label(hour, 0), SoleSK
}
