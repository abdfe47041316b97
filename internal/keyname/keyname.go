// Package keyname is how metrics and log lines name keys: as they are, by pseudonyms, or not
// at all.
//
//	log.Warn("grown", "key", settings.MetricNames.Shown(key))
package keyname

import (
	"crypto/sha256"
	"encoding/hex"
)

// Style is a way to name keys.
type Style string

// The styles.
const (
	Plain   Style = "plain"
	Hashed  Style = "hashed" // by pseudonyms
	Unnamed Style = "off"
)

// Valid reports whether there is such a style.
func (s Style) Valid() bool { return s == Plain || s == Hashed || s == Unnamed }

// Shown is how a name is shown; "" where none are.
func (s Style) Shown(name string) string {
	switch s {
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
