package shard

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Format is the text between a name and a write shard's number in a partition key.
//
// A sharded key always has its suffix, even with one write shard, so that growth needs no migration. The number is
// decimal, without a sign or leading zeros. So Split(Join(name, shard)) returns any name, even one that contains the
// format's text, if [Format.Valid] returns nil.
type Format string

// Formats. Hash is hotshard's own; the others are for tables that other programs sharded.
const (
	Hash       Format = "#"       // name#7
	HashShard  Format = "#SHARD_" // name#SHARD_7
	Underscore Format = "_"       // name_7
)

// Join returns the partition key of a write shard of name. It panics if shard is negative.
func (f Format) Join(name string, shard int) string {
	if shard < 0 {
		panic(fmt.Sprintf("shard: write shard %d of %q is negative", shard, name))
	}
	return name + string(f) + strconv.Itoa(shard)
}

// Split is the inverse of Join. It splits at the last separator, since a name may contain it.
// It returns a [*KeyError] for a key that Join can't return.
func (f Format) Split(key string) (name string, shard int, err error) {
	if f == "" {
		return "", 0, &KeyError{Key: key, Reason: "the format has no separator"}
	}
	end := strings.LastIndex(key, string(f))
	if end < 0 {
		return "", 0, &KeyError{Key: key, Reason: fmt.Sprintf("it has no separator %q", string(f))}
	}
	digits := key[end+len(f):]
	shard, err = strconv.Atoi(digits)
	if err != nil || strconv.Itoa(shard) != digits || shard < 0 {
		return "", 0, &KeyError{Key: key, Reason: fmt.Sprintf("its suffix %q is not a write shard's number", digits)}
	}
	return key[:end], shard, nil
}

// JoinPlain is Join for a table whose write shard 0 is the plain name: acme, acme#SHARD_1. Join(name, 0)
// is never a key of such a table.
func (f Format) JoinPlain(name string, shard int) string {
	if shard == 0 {
		return name
	}
	return f.Join(name, shard)
}

// SplitPlain is the inverse of JoinPlain; shard is 0 for a plain name. Don't use a name for which it returns another
// shard: the name acme#SHARD_1 has the same key as write shard 1 of acme.
func (f Format) SplitPlain(key string) (name string, shard int) {
	name, shard, err := f.Split(key)
	if err != nil || shard == 0 {
		return key, 0
	}
	return name, shard
}

// Valid returns an error if the format is empty or has only digits, since its keys would be ambiguous: without a
// separator, write shard 11 of a and write shard 1 of a1 would have the same key.
func (f Format) Valid() error {
	if strings.Trim(string(f), "0123456789") == "" {
		return fmt.Errorf("shard: format %q must have a character that is no digit: use shard.Hash, for example", string(f))
	}
	return nil
}

// Separator returns the separator between a name and a time bucket: the format's text before its first letter or
// digit, # for HashShard. It is the whole format if the format begins with a letter or digit, or has none.
func (f Format) Separator() string {
	end := strings.IndexFunc(string(f), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	if end < 1 {
		return string(f)
	}
	return string(f)[:end]
}

// KeyError means that a key can't be parsed, or can't be used. Its Reason says why, as a clause about the key.
type KeyError struct {
	Key    string
	Reason string
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("shard: key %q: %s", e.Key, e.Reason)
}
