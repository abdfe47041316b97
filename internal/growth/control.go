package growth

// Control is how far a controller of shard counts goes.
type Control string

// The controls.
const (
	Act     Control = "act"     // it changes shard counts
	Observe Control = "observe" // it decides and logs, and changes nothing
	Off     Control = "off"     // it decides nothing
)

// Valid reports whether there is such a control.
func (c Control) Valid() bool { return c == Act || c == Observe || c == Off }
