// Package migrate moves the items of a [table.Table] to another layout, format or count, while
// programs read and write. See [Migration].
package migrate
