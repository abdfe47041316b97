package heat

import (
	"crypto/sha256"
	"encoding/hex"
)

// Naming is how metrics and log lines name keys.
type Naming string

// The namings.
const (
	Plain   Naming = "plain"
	Hashed  Naming = "hashed" // by pseudonyms
	Unnamed Naming = "off"
)

// Valid reports whether there is such a naming.
func (n Naming) Valid() bool { return n == Plain || n == Hashed || n == Unnamed }

// Shown is how a name is shown; "" where none are.
func (n Naming) Shown(name string) string {
	switch n {
	case Plain:
		return name
	case Hashed:
		return Pseudonym(name)
	}
	return ""
}

// Pseudonym stands for a key's name where names are not to be seen: the first 16
// hexadecimal digits of its SHA-256. Who can guess a name can check the guess.
func Pseudonym(name string) string {
	digest := sha256.Sum256([]byte(name))
	return hex.EncodeToString(digest[:8])
}

// MetricName is what the row's metrics and log lines call it: its base key, or the
// partition key itself if it has none.
func (r *Row) MetricName() string {
	base, ok := r.Base()
	if !ok {
		return r.Key
	}
	return base.String()
}
