package shard

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Format joins a name and a write shard's number into a partition key: the
// format's text stands between the two.
//
// A sharded key always carries its suffix, also when there is only one write
// shard, so that growth needs no migration. The number is decimal and has
// neither sign nor leading zeros, which makes Join and Split inverse for every
// name, names that contain the separator included, if the format is [Format.Valid].
type Format string

// The formats in use. Hash is hotshard's own; the others are read and written
// for the sake of tables that were sharded by other means.
const (
	Hash       Format = "#"       // name#7
	HashShard  Format = "#SHARD_" // name#SHARD_7
	Underscore Format = "_"       // name_7
)

// Join returns the partition key of one write shard of name. It panics when
// shard is negative, which is a fault of the caller's and never of the data.
func (f Format) Join(name string, shard int) string {
	if shard < 0 {
		panic(fmt.Sprintf("shard: write shard %d of %q is negative", shard, name))
	}
	return name + string(f) + strconv.Itoa(shard)
}

// Split is the inverse of Join. It takes the last separator, so that a name may
// contain it, and reports a [*KeyError] for a key that Join can't have made.
func (f Format) Split(key string) (name string, shard int, err error) {
	if f == "" {
		return "", 0, &KeyError{Key: key, Reason: "the format has no separator"}
	}
	at := strings.LastIndex(key, string(f))
	if at < 0 {
		return "", 0, &KeyError{Key: key, Reason: fmt.Sprintf("it has no separator %q", string(f))}
	}
	digits := key[at+len(f):]
	shard, err = strconv.Atoi(digits)
	if err != nil || strconv.Itoa(shard) != digits || shard < 0 {
		return "", 0, &KeyError{Key: key, Reason: fmt.Sprintf("its suffix %q is not a write shard's number", digits)}
	}
	return key[:at], shard, nil
}

// Valid reports a format that does not tell where the name ends: an empty one, or one
// of digits alone, with which the write shards 11 of a and 1 of a1 had one key.
func (f Format) Valid() error {
	if strings.Trim(string(f), "0123456789") == "" {
		return fmt.Errorf("shard: format %q has nothing but digits between name and write shard", string(f))
	}
	return nil
}

// Separator is what stands between the parts of a name: the format's text up to its
// first letter or digit. For HashShard it is #.
func (f Format) Separator() string {
	at := strings.IndexFunc(string(f), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	if at < 1 {
		return string(f)
	}
	return string(f)[:at]
}

// KeyError says why a key could not be read.
type KeyError struct {
	Key    string
	Reason string
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("shard: key %q: %s", e.Key, e.Reason)
}
