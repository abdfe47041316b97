#!/bin/sh
# need.sh THING... checks that a make target has what it needs. It lists all that is missing or
# too old in one answer, with the commands that install it, and fails then. Things are go, java,
# node, git, curl, cc and browser. Without a browser it only says what happens to the browser's tests.
# HOTSHARD_BROWSER_NAMES is another file with the names of browsers, for the tests of this script.
set -u
missing= apt= brew= dnf=

# lack DESCRIPTION APT BREW DNF adds a thing, with its packages, to the answer.
lack() {
	missing="$missing
  $1"
	apt="$apt${2:+ $2}" brew="$brew${3:+ $3}" dnf="$dnf${4:+ $4}"
}

# newer FOUND WANTED reports whether version FOUND (1.26, 17) is at least WANTED.
newer() {
	[ "${1%%.*}" -gt "${2%%.*}" ] && return
	case $2 in
	*.*) [ "${1%%.*}" -eq "${2%%.*}" ] && [ "${1#*.}" -ge "${2#*.}" ] ;;
	*) [ "${1%%.*}" -eq "$2" ] ;;
	esac
}

# version COMMAND SED-SCRIPT prints the first version in a command's output, or nothing.
version() { $1 2>&1 | sed -n "$2" | head -n 1; }

# check NAME WANTED VERSION DESCRIPTION APT BREW DNF adds a program that is missing or too old.
check() {
	if [ -z "$3" ]; then
		lack "$4: not found" "$5" "$6" "$7"
	elif ! newer "$3" "$2"; then
		lack "$4: found $1 $3" "$5" "$6" "$7"
	fi
}

# From 1.21 on, Go downloads the version that go.mod asks for, unless GOTOOLCHAIN forbids that. It is
# asked in /, where there is no go.mod, so that nothing is downloaded yet.
need_go() {
	found=$(version 'env GOTOOLCHAIN=local go version' 's/^go version.*go\([0-9]*\.[0-9]*\).*/\1/p')
	if [ -n "$found" ] && newer "$found" 1.21 && ! newer "$found" 1.26; then
		case $(cd / && go env GOTOOLCHAIN 2>/dev/null) in
		auto | *+auto) return ;;
		esac
	fi
	check Go 1.26 "$found" 'Go 1.26 or newer, which builds hotshard and its tests (or 1.21 with GOTOOLCHAIN=auto)' golang-go go golang
}

need_java() { # Java 8 calls itself 1.8
	[ -n "${HOTSHARD_ENDPOINT:-}" ] && return
	check Java 17 "$(version 'java -version' 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p')" \
		'Java 17 or newer (a JRE is enough), which runs DynamoDB Local' default-jre-headless temurin java-21-openjdk-headless
}

need_node() {
	for_what='which fetches DynamoDB Local, bundles the console and runs the CDK'
	check Node 20 "$(version 'node --version' 's/^v\([0-9]*\)\..*/\1/p')" "Node 22 or newer, $for_what" nodejs node nodejs
	brew_npm=node # which has npm
	case " $brew " in *' node '*) brew_npm= ;; esac
	command -v npm >/dev/null || lack 'npm, which comes with Node: not found' npm "$brew_npm" npm
}

need_git() { command -v git >/dev/null || lack 'git, which lists the files that tests check: not found' git git git; }

need_curl() { command -v curl >/dev/null || lack 'curl, which tests run as the docs do: not found' curl curl curl; }

need_cc() { # the compiler that Go takes is in $CC, else gcc or clang
	for compiler in ${CC:-gcc clang}; do
		command -v "$compiler" >/dev/null && return
	done
	lack "a C compiler, which Go's race detector needs: not found" gcc gcc gcc
}

need_browser() {
	left_out="the console's browser tests are left out"
	if [ "${HOTSHARD_BROWSER:-}" = none ]; then
		echo "HOTSHARD_BROWSER is none: $left_out." >&2
		return
	fi
	while read -r name; do
		command -v "${HOTSHARD_BROWSER:-$name}" >/dev/null && return
	done <"${HOTSHARD_BROWSER_NAMES:-${0%/*}/names.txt}"
	if [ -z "${HOTSHARD_BROWSER:-}" ] && [ "$(uname -sm)" = 'Linux x86_64' ]; then
		left_out="tests use a Chromium fetched from npm, and without it $left_out"
	fi
	echo "No browser was found: $left_out." \
		'To install one: sudo apt-get install -y chromium, brew install --cask google-chrome, or sudo dnf install -y chromium' >&2
}

for thing; do "need_$thing"; done
[ -z "$missing" ] && exit
cat >&2 <<END
These are missing:$missing
Install them with one of
  sudo apt-get install -y$apt
  brew install$brew
  sudo dnf install -y$dnf
If a distribution's package is too old: Go is at https://go.dev/dl, Java at https://adoptium.net, Node at https://nodejs.org.
END
exit 1
