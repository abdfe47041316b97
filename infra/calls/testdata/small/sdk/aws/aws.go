// Package aws has the form of the SDK's.
package aws

// String returns a pointer to a copy.
func String(s string) *string { return &s }
