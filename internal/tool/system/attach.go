package system

import (
	"context"
	"maps"

	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/hotkeys"
)

// wireAttached connects a detector to the stream of another table of the engine, as in an attached deployment. The
// tasks of hotshard's own detector fold its heat items.
func (s *System) wireAttached(ctx context.Context, f *functions) error {
	set := f.environment()
	maps.Copy(set, map[string]string{"HOTSHARD_SOURCE": string(hotkeys.Existing), "HOTSHARD_SOURCE_TABLE": s.options.Attach})
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
	return s.deliverFrom(ctx, f, detectorName, "attached-"+source.Table, source.Table, detector)
}
