package books

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// formats are the formats of books, each with what reads it.
var formats = map[string]func(ctx context.Context, file string) (Book, error){
	"hledger": readHledger, "ledger": readLedger, "beancount": readBeancount,
}

// Formats are the formats that Read knows.
const Formats = "hledger, ledger and beancount"

// IsFormat reports whether Read knows a format.
func IsFormat(format string) bool { return formats[format] != nil }

// Read reads a book of a format by the format's own program. Errors say which program is missing and how it is
// installed, or what it said of the book.
func Read(ctx context.Context, format, file string) (Book, error) {
	read, ok := formats[format]
	if !ok {
		return Book{}, fmt.Errorf("unknown format %q: it is none of %s", format, Formats)
	}
	if _, err := os.Stat(file); err != nil {
		return Book{}, err
	}
	return read(ctx, file)
}

// MissingError says that a program is not on this machine.
type MissingError struct{ Program, Install string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is needed to read this book, and is not installed: %s", e.Program, e.Install)
}

const (
	installHledger   = "apt-get install hledger on Debian, brew install hledger on macOS, else hledger.org/install"
	installLedger    = "apt-get install ledger on Debian, brew install ledger on macOS, else ledger-cli.org/download"
	installBeancount = "pip install beancount, or pipx install beancount (2.3 or newer)"
)

// output runs a program and returns what it prints. Error: it is missing, or what it complained of.
func output(ctx context.Context, install string, input io.Reader, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &out, &complaints
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, &MissingError{program, install}
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %s", program, err, bytes.TrimSpace(complaints.Bytes()))
	}
	return out.Bytes(), nil
}

// pythonOf is the Python that a program of its own runs with, by the program's first lines; python3 when the program
// isn't there, or tells none.
func pythonOf(program string) string {
	const fallback = "python3"
	path, err := exec.LookPath(program)
	if err != nil {
		return fallback
	}
	f, err := os.Open(path)
	if err != nil {
		return fallback
	}
	defer f.Close()
	lines := bufio.NewReader(io.LimitReader(f, 4096))
	first, _ := lines.ReadString('\n')
	interpreter, ok := strings.CutPrefix(strings.TrimSpace(first), "#!")
	if ok && strings.Contains(interpreter, "python") {
		words := strings.Fields(interpreter) // "/usr/bin/env python3", or a path and perhaps an option
		if strings.HasSuffix(words[0], "/env") && len(words) > 1 {
			return words[1]
		}
		return words[0]
	}
	// A path that is too long for a first line stands in the second one: '''exec' /path/python "$0" "$@"
	second, _ := lines.ReadString('\n')
	if words := strings.Fields(second); len(words) > 1 && words[0] == "'''exec'" {
		return strings.Trim(words[1], `"`)
	}
	return fallback
}
