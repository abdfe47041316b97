package heat

// Verdict is the status of a certified rate, where a partition takes limit and keys are hot
// from hotRate on, all in write units a second.
func Verdict(rate, limit, hotRate float64) Status {
	it := Item{Limit: limit, HotRate: hotRate}
	return it.status(rate)
}
