package display

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Style is how messages, logs and metrics name keys.
type Style string

// Styles.
const (
	Plain   Style = "plain"
	Hashed  Style = "hashed" // by pseudonyms: see [Pseudonym]
	Unnamed Style = "off"    // not at all
)

// Valid reports whether the style exists.
func (s Style) Valid() bool { return s == Plain || s == Hashed || s == Unnamed }

// Shown returns a key's name in this style: "" for Unnamed.
func (s Style) Shown(name string) string {
	switch s {
	case Plain:
		return name
	case Hashed:
		return Pseudonym(name)
	}
	return ""
}

// Pseudonym returns the first 16 hexadecimal digits of the SHA-256 of a key's name. It does not hide a name that can be
// guessed: the guess has the same pseudonym.
func Pseudonym(name string) string {
	digest := sha256.Sum256([]byte(name))
	return hex.EncodeToString(digest[:8])
}

// Several returns a number and its noun, plural unless n is 1: 2 throttles, 3 summaries, 4 keys.
func Several(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok && !strings.HasSuffix(stem, "e") {
		noun = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// SeveralAre returns a number and its noun with the verb: 1 throttle is, 2 throttles are.
func SeveralAre(n int, noun string) string {
	if n == 1 {
		return Several(n, noun) + " is"
	}
	return Several(n, noun) + " are"
}
