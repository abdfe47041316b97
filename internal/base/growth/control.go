package growth

// Control says what a controller of shard counts does.
type Control string

// The controls.
const (
	Act     Control = "act"     // it changes shard counts
	Observe Control = "observe" // it decides and logs, and changes nothing
	Off     Control = "off"     // it decides nothing
)

// Valid reports whether c is one of the controls.
func (c Control) Valid() bool { return c == Act || c == Observe || c == Off }
