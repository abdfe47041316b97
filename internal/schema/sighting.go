package schema

import (
	"fmt"
	"strings"
	"time"
)

// A sighting is what a writer saw of a hot base key, which the stream alone does
// not show: throttled writes never reach it. Writers put one a second and key at
// most, in the items table, so that the detector gets it through the stream and
// other writers can read it:
//
//	pk           S  H#<base key>
//	sk           S  <time>#<writer's id>, the time as 2026-01-05T12:00:00.123Z
//	offered      N  distinct writes in the second before, refused ones included
//	throttled    N  attempts that a partition's limit refused since the last one
//	failed_units N  write units of failed conditions since the last one
//	shards       M  throttled attempts by write shard: its number to N
//	ripe         BOOL  offered is of a whole second, and not too low
//	v            N  1
//	expires_at   N  Unix seconds
const SightingPrefix = "H#"

// Attributes of a sighting.
const (
	Offered     = "offered"
	Throttled   = "throttled"
	FailedUnits = "failed_units"
	Shards      = "shards"
	Ripe        = "ripe"
)

// SightingLifetime is how long a sighting is kept.
const SightingLifetime = time.Hour

// SightingKey returns the keys of a sighting.
func SightingKey(base BaseKey, at time.Time, writer string) (pk, sk string) {
	return SightingPrefix + base.String(), SightingTime(at) + "#" + writer
}

// SightingTime is the begin of the sort keys of sightings at a time.
func SightingTime(at time.Time) string { return at.UTC().Format(TimeLayout) }

// ParseSightingKey is the inverse of SightingKey.
func ParseSightingKey(pk, sk string) (base BaseKey, at time.Time, writer string, err error) {
	key, ok := strings.CutPrefix(pk, SightingPrefix)
	if !ok {
		return base, at, "", fmt.Errorf("%q is not the key of a sighting", pk)
	}
	if base, err = ParseBaseKey(key); err != nil {
		return base, at, "", err
	}
	at, writer, err = ParseEventSortKey(sk)
	return base, at, writer, err
}

// ProbeSK is the sort key of a probe: an item that a writer puts beside a write
// shard's own to learn why a write that came without a reason was throttled. Time
// sorts before it, so no range of events holds one.
const ProbeSK = "~probe"
