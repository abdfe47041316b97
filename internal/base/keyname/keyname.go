// Package keyname names keys in metrics and log lines: in plain text, by a pseudonym, or not at all.
//
//	log.Warn("grown", "key", settings.MetricNames.Shown(key))
package keyname

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// Style says how keys are named.
type Style string

// Styles.
const (
	Plain   Style = "plain"
	Hashed  Style = "hashed" // by pseudonyms
	Unnamed Style = "off"
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

// Pseudonym returns a key's pseudonym: the first 16 hexadecimal digits of its name's SHA-256. A
// guessed name can be checked against it.
func Pseudonym(name string) string {
	digest := sha256.Sum256([]byte(name))
	return hex.EncodeToString(digest[:8])
}

// plainWord needs no quotes in any shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

// ShellWord quotes a word for a POSIX shell if it must be quoted.
func ShellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
