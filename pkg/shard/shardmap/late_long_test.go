//go:build long

package shardmap

// This rule takes a thousand worlds.
func init() {
	lateRules["a range knows growths that were dated again"] = lateRule{
		func(w *lateWorld) { w.growthsLate, w.restarts, w.deaths = true, true, 0 },
		func(w *lateWorld) { w.rangeAhead = Margin }, "a range",
	}
}
