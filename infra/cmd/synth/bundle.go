package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// checkBundles returns an error that names each function whose dist/<function>/bootstrap is missing, not for 64-bit
// ARM, or without the mode 0755 that Lambda needs. Lambda would find these faults only when it starts the function.
func checkBundles(dist string, functions []string) error {
	var faults []error
	for _, f := range functions {
		if err := checkBundle(filepath.Join(dist, f, "bootstrap")); err != nil {
			faults = append(faults, fmt.Errorf("function %s: %w (make functions builds it)", f, err))
		}
	}
	return errors.Join(faults...)
}

func checkBundle(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm() != 0o755 {
		return fmt.Errorf("%s has mode %v: want 0755", path, info.Mode().Perm())
	}
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer file.Close()
	if file.Machine != elf.EM_AARCH64 {
		return fmt.Errorf("%s is for %v: want 64-bit ARM", path, file.Machine)
	}
	return nil
}
