// Package sums checks every write that adds to what is stored, in the library and the functions: after
// an ambiguous result it counts at most once more.
package sums
