//go:build long

package shardmap

// A violation of this rule takes a thousand worlds.
func init() {
	lateRules["a range knows growths that were dated again"] = lateRule{
		func(w *lateWorld) { w.growthsLate, w.restarts, w.deaths = true, true, 0 },
		func(w *lateWorld) { w.rangeAhead = Margin }, "a range",
	}
}
