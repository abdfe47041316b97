// Package none is there since the module that is looked at has packages below pkg.
package none
