// Package need has need.sh, which checks the prerequisites of a make target, and its tests.
package need
