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

// formats has the reader of each format.
var formats = map[string]func(ctx context.Context, file string) (Book, error){
	"hledger": readHledger, "ledger": readLedger, "beancount": readBeancount,
}

// Formats lists the formats that Read supports.
const Formats = "hledger, ledger and beancount"

// IsFormat reports whether Read supports a format.
func IsFormat(format string) bool { return formats[format] != nil }

// Read reads a book with the program of its format. Errors: *MissingError, and the error output of the program.
func Read(ctx context.Context, format, file string) (Book, error) {
	read, ok := formats[format]
	if !ok {
		return Book{}, fmt.Errorf("unknown format %q: must be one of %s", format, Formats)
	}
	if _, err := os.Stat(file); err != nil {
		return Book{}, err
	}
	return read(ctx, file)
}

// MissingError means that a program is not installed. It says how to install it.
type MissingError struct{ Program, Install string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is required to read this book, but is not installed: %s", e.Program, e.Install)
}

const (
	installHledger   = "apt-get install hledger on Debian, brew install hledger on macOS, else hledger.org/install"
	installLedger    = "apt-get install ledger on Debian, brew install ledger on macOS, else ledger-cli.org/download"
	installBeancount = "pip install beancount, or pipx install beancount (2.3 or newer)"
)

// output runs a program and returns its standard output. Errors: *MissingError, and its standard error.
func output(ctx context.Context, install string, input io.Reader, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &out, &errs
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, &MissingError{program, install}
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %s", program, err, bytes.TrimSpace(errs.Bytes()))
	}
	return out.Bytes(), nil
}

// pythonOf returns the Python interpreter in the first lines of a program, such as that of a virtual environment. It
// returns python3 if it finds none.
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
	// A path that is too long for the first line is in the second one: '''exec' /path/python "$0" "$@"
	second, _ := lines.ReadString('\n')
	if words := strings.Fields(second); len(words) > 1 && words[0] == "'''exec'" {
		return strings.Trim(words[1], `"`)
	}
	return fallback
}
