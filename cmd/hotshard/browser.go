package main

import (
	"os"
	"os/exec"
	"runtime"
)

// openBrowser opens a URL in the user's browser. It does not wait for the browser, and does nothing without a display.
func openBrowser(url string) {
	command := browserCommand(runtime.GOOS, os.Getenv, url)
	if command == nil {
		return
	}
	browser := exec.Command(command[0], command[1:]...)
	if browser.Start() == nil {
		go func() { _ = browser.Wait() }() // the user sees whether it opened
	}
}

// browserCommand returns the command that opens a URL on a system, named as by runtime.GOOS; nil if the system has no display.
func browserCommand(system string, getenv func(string) string, url string) []string {
	switch {
	case system == "darwin":
		return []string{"open", url}
	case system == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", url}
	case getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != "":
		return []string{"xdg-open", url}
	}
	return nil
}
