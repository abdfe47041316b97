// Package settings is what the functions read of their environment.
package settings

// Settings name the table.
type Settings struct {
	Table string `env:"TABLE"`
}
