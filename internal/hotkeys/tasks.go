package hotkeys

import (
	"context"
	"fmt"
	"time"
)

// Task runs the scheduled task with this name.
func (h *Handler) Task(ctx context.Context, name string) ([]byte, error) {
	j := h.newJournal(h.deps.Source)
	defer j.sendMetrics(ctx, h.deps.Metrics)
	switch name {
	case "heat":
		return h.heatTask(ctx, j)
	case "shrink":
		return h.shrinker.task(ctx, j)
	}
	return nil, fmt.Errorf("hotkeys: unknown task %.40q: want heat or shrink", name)
}

// snapshotTime bounds how long a snapshot of the shard map may delay the heat task.
const snapshotTime = 20 * time.Second

// storeSnapshot stores a snapshot of the shard map if one is due. It only logs a failure: without a snapshot, starting
// processes read the map's keys.
func (h *Handler) storeSnapshot(ctx context.Context, j *journal) {
	if j.source.Own == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotTime)
	defer cancel()
	if err := h.deps.Shards.StoreSnapshot(ctx, j.now()); err != nil {
		j.WarnContext(ctx, "snapshot of the shard map not stored", "error", err)
	}
}

// heatTask folds heat items, counts partitions concurrently, and stores a snapshot of the shard map.
func (h *Handler) heatTask(ctx context.Context, j *journal) ([]byte, error) {
	counted := make(chan []Datum, 1)
	go func() { counted <- h.partitionCounter.countIfDue(ctx, j) }()
	answer, err := h.folder.task(ctx, j)
	h.storeSnapshot(ctx, j)
	j.data = append(j.data, <-counted...)
	return answer, err
}
