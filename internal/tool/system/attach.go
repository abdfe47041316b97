package system

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Attach configures a detector on the stream of another table of the engine, as in an attached deployment. The zero
// value is no such detector.
type Attach struct {
	Table string

	// The others are for an adopted table, with the values of its programs. Without a Map it only gets advice.
	Map    string // the shard map's table
	Layout string // calculated, buckets or random
	Format string // separates a name from a write shard's number
	Bucket string // day, hour or minute, with buckets
	Max    int    // maximum number of write shards of a name; 0 is no maximum
}

// environment returns the environment variables that differ from those of hotshard's own detector.
func (a Attach) environment() map[string]string {
	set := map[string]string{"HOTSHARD_SOURCE": string(hotkeys.Existing), "HOTSHARD_SOURCE_TABLE": a.Table}
	if a.Map != "" {
		maps.Copy(set, map[string]string{
			"HOTSHARD_SOURCE_MAP": a.Map, "HOTSHARD_SOURCE_LAYOUT": a.Layout, "HOTSHARD_SOURCE_FORMAT": a.Format, "HOTSHARD_SOURCE_BUCKET": a.Bucket,
		})
		set["HOTSHARD_SOURCE_MAX"] = strconv.Itoa(shard.MaxShards)
		if a.Max > 0 {
			set["HOTSHARD_SOURCE_MAX"] = strconv.Itoa(a.Max)
		}
	}
	return set
}

// wireAttached connects a detector to the attached table. The tasks of hotshard's own detector fold its heat items.
func (s *System) wireAttached(ctx context.Context, f *functions) error {
	set := f.environment()
	maps.Copy(set, s.options.Attach.environment())
	o, err := env.ParseAsWithOptions[hotkeys.Settings](env.Options{Environment: set})
	if err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	source, err := hotkeys.FindSource(ctx, f.db, o)
	if err != nil {
		return err
	}
	detector, err := f.detector(o, source)
	if err != nil {
		return err
	}
	if limiter := f.limited.limiter; limiter != nil && o.SourceMap != "" {
		if err := hotkeys.OpenShards(f.db, o).NotePartitions(ctx, source.Table, limiter.Partitions(source.Table), time.Now()); err != nil {
			return fmt.Errorf("shard map %s: %w", o.SourceMap, err)
		}
	}
	return s.deliverFrom(ctx, f, detectorName, "attached-"+source.Table, source.Table, detector)
}
