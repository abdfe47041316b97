package system

import (
	"context"

	"github.com/hotshard/hotshard/internal/hotkeys"
)

// wireAttached connects a detector to the stream of another table of the engine, as in an attached deployment. The
// tasks of hotshard's own detector fold its heat items.
func (s *System) wireAttached(ctx context.Context, f *functions) error {
	o, err := f.detectorSettings()
	if err != nil {
		return err
	}
	o.SourceTable = s.options.Attach
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
