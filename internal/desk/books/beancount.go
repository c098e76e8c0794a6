package books

import (
	"bufio"
	"bytes"
	"context"
	"debug/buildinfo"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"ledger.example/events"
)

//go:embed read_beancount.py
var beancountScript string

// readBeancount reads a book with beancount's loader, including the plugins of the book, as bean-check does.
func readBeancount(ctx context.Context, program, file string) (b *Book, err error) {
	err = stream(ctx, strings.NewReader(beancountScript), func(out io.Reader) (err error) {
		b, err = parseBeancount(out)
		return err
	}, pythonOf(program), "-", file)
	if err != nil && strings.Contains(err.Error(), "No module named 'beancount'") {
		err = exec.ErrNotFound
	}
	return b, err
}

// beancountBook is the first object of the output of the script. The others are the transactions.
type beancountBook struct {
	Errors []struct {
		File string
		Line int
		Text string
	}
	Accounts, Commodities []struct {
		Name string
		Meta pairs
	}
	LeftOut  map[string]int `json:"left_out"`
	Metadata map[string]int // accounts and commodities with metadata
}

type beancountTransaction struct {
	File, Date, Flag, Payee, Narration string
	Line                               int
	Tags, Links                        []string
	Meta                               pairs
	Postings                           []beancountPosting
}

type beancountPosting struct {
	Account       string
	Line          int
	Units, Weight *beancountAmount
	Meta          pairs
	Inferred      bool
	Flag, Price   string
	Lot           [2]string // date and label
}

type beancountAmount struct{ Number, Commodity string }

func (a beancountAmount) amount() (Amount, error) {
	n, err := ParseNumber(a.Number)
	return Amount{n, a.Commodity}, err
}

// pairs are metadata as [[key, value], …].
type pairs [][2]string

func (p pairs) all() (all []Pair) {
	for _, pair := range p {
		all = append(all, Pair{pair[0], pair[1]})
	}
	return all
}

// parseBeancount parses the output of the script.
func parseBeancount(out io.Reader) (*Book, error) {
	var head beancountBook
	in := json.NewDecoder(out)
	err := in.Decode(&head)
	b := head.book()
	for err == nil && in.More() {
		var t beancountTransaction
		if err = in.Decode(&t); err == nil {
			b.add(t.entry())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the output of beancount's loader cannot be parsed: %w", err)
	}
	return b, nil
}

// book returns the book without its transactions.
func (in beancountBook) book() *Book {
	b := &Book{Accounts: make(map[string]string), Assets: make(map[string]string)}
	for _, e := range in.Errors {
		b.Problems = append(b.Problems, Problem{Position{e.File, e.Line}, strings.TrimSpace(e.Text)})
	}
	for _, a := range in.Accounts {
		b.Declared = append(b.Declared, a.Name)
		b.Accounts[a.Name] = valueOf(a.Meta.all(), TagAccount)
	}
	for _, c := range in.Commodities {
		b.Assets[c.Name] = valueOf(c.Meta.all(), TagAsset)
	}
	for _, kind := range slices.Sorted(maps.Keys(in.LeftOut)) {
		b.Notes = append(b.Notes, fmt.Sprintf("%s directives are not imported (%d)", kind, in.LeftOut[kind]))
	}
	for _, kind := range slices.Sorted(maps.Keys(in.Metadata)) {
		b.Notes = append(b.Notes, fmt.Sprintf("metadata of %s are not imported (%d)", kind, in.Metadata[kind]))
	}
	return b
}

func (t beancountTransaction) entry() Transaction {
	to := Transaction{Position: Position{t.File, t.Line}, Date: t.Date, Metadata: t.Meta.all(),
		Description: described(t.Payee, t.Narration)}
	to.Metadata = append(to.Metadata, listed("tags", t.Tags)...)
	to.Metadata = append(to.Metadata, listed("links", t.Links)...)
	if t.Flag != "*" {
		to.Metadata = append(to.Metadata, Pair{"flag", t.Flag})
	}
	for _, p := range t.Postings {
		to.Postings = append(to.Postings, p.posting())
	}
	return to
}

func (p beancountPosting) posting() Posting {
	to := Posting{Line: p.Line, Account: p.Account, Metadata: p.Meta.all()}
	for _, pair := range [][2]string{
		{"flag", p.Flag}, {"lot-date", p.Lot[0]}, {"lot-label", p.Lot[1]}, {"price", p.Price},
	} {
		if pair[1] != "" {
			to.Metadata = append(to.Metadata, Pair{pair[0], pair[1]})
		}
	}
	if p.Units == nil {
		to.Wrong = "the posting has no amount: write it"
		return to
	}
	var err error
	if to.Quantity, err = p.Units.amount(); err != nil {
		to.Wrong = err.Error()
	}
	// An expression such as 10/3, or a plugin, gives more decimals than anybody writes.
	to.Inferred = p.Inferred || to.Quantity.Number.trimmed().places > events.ScaleMax
	if p.Weight != nil {
		weight, err := p.Weight.amount()
		if err != nil {
			to.Wrong = err.Error()
		}
		to.Weight = &weight
	}
	return to
}

// described joins payee and narration, as plain-text books do.
func described(payee, narration string) string {
	if payee == "" || narration == "" {
		return payee + narration
	}
	return payee + " | " + narration
}

func listed(key string, values []string) []Pair {
	if len(values) == 0 {
		return nil
	}
	return []Pair{{key, strings.Join(values, ",")}}
}

// formats has the program of each format, and its reader, which gets the program's path, "" if it is not in PATH.
var formats = map[string]struct {
	program, install string
	read             func(ctx context.Context, program, file string) (*Book, error)
	check            func(ctx context.Context, program, file string, older entries, day string) error // see Check
}{
	"hledger": {
		"hledger", "apt-get install hledger on Debian, brew install hledger on macOS, else hledger.org/install",
		readHledger, checkHledger,
	},
	"ledger": {
		"ledger", "apt-get install ledger on Debian, brew install ledger on macOS, else ledger-cli.org/download. " +
			"It is another program than this one", readLedger, checkLedger,
	},
	"beancount": {
		"bean-check", "pip install beancount, or pipx install beancount (2.3 or newer)", readBeancount,
		checkBeancount,
	},
}

// Formats lists the formats that Read supports.
const Formats = "hledger, ledger and beancount"

// IsFormat reports whether Read supports a format.
func IsFormat(format string) bool { return formats[format].read != nil }

// Read reads a book with the program of its format: the given one, or the first in PATH if it is "". Errors:
// *MissingError, and the error output of the program.
func Read(ctx context.Context, format, program, file string) (*Book, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	program, err := programOf(format, program)
	if err != nil {
		return nil, err
	}
	b, err := formats[format].read(ctx, program, file)
	if errors.Is(err, exec.ErrNotFound) {
		err = &MissingError{format, formats[format].install}
	}
	return b, err
}

// programOf returns the path of the program of a format: the given one, or the first in PATH, "" if it has none.
func programOf(format, program string) (string, error) {
	f, ok := formats[format]
	if !ok {
		return "", fmt.Errorf("unknown format %q: must be one of %s", format, Formats)
	}
	if program == "" {
		return find(f.program), nil
	}
	path, err := exec.LookPath(program)
	if err == nil && isOurs(path) {
		err = fmt.Errorf("%s is this program, and not the %s that reads the book", path, f.program)
	}
	return program, err
}

// MissingError means that a program is not installed. It says how to install it.
type MissingError struct{ Program, Install string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is required to read this book, but is not in PATH: %s", e.Program, e.Install)
}

// find returns the path of the first program in PATH with a name, "" if there is none. It passes over this program,
// which may have the name of the program ledger.
func find(name string) string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) && !isOurs(path) {
			return path
		}
	}
	return ""
}

// isOurs reports whether a file is this program, perhaps another copy or version of it.
func isOurs(path string) bool {
	info, err := buildinfo.ReadFile(path)
	own, ok := debug.ReadBuildInfo()
	return err == nil && ok && info.Main.Path == own.Main.Path
}

// output runs a program and returns its standard output. Errors: see stream.
func output(ctx context.Context, input io.Reader, program string, args ...string) (all []byte, err error) {
	err = stream(ctx, input, func(out io.Reader) (err error) {
		all, err = io.ReadAll(out)
		return err
	}, program, args...)
	return all, err
}

// stream runs a program, and calls read with its standard output, while it runs. Errors: exec.ErrNotFound, also if
// program is "", the program's standard error, and the error of read.
func stream(
	ctx context.Context, input io.Reader, read func(io.Reader) error, program string, args ...string,
) error {
	if program == "" {
		return exec.ErrNotFound
	}
	cmd := exec.CommandContext(ctx, program, args...)
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr, cmd.Env = input, &errs, withUTF8(os.Environ())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	readErr := read(out)
	_, _ = io.Copy(io.Discard, out) // so that the program ends by itself, with its own error
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", program, context.Cause(ctx))
	case err != nil && bytes.Contains(errs.Bytes(), []byte("invalid byte sequence")):
		return fmt.Errorf("%s: %w: %s\nThe book is not in UTF-8: convert it, for example with iconv -t UTF-8. Or the "+
			"locale of LC_ALL, LC_CTYPE or LANG is not installed", program, err, bytes.TrimSpace(errs.Bytes()))
	case err != nil:
		return fmt.Errorf("%s: %w: %s", program, err, bytes.TrimSpace(errs.Bytes()))
	}
	return readErr
}

// withUTF8 returns the environment for a program, in which texts are in UTF-8: hledger reads no others, and under cron
// and in containers there is no locale.
func withUTF8(environment []string) []string {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := os.Getenv(name); locale != "" {
			if strings.Contains(strings.ToLower(locale), "utf") {
				return environment
			}
			break
		}
	}
	locale := "C.UTF-8"
	if runtime.GOOS == "darwin" {
		locale = "en_US.UTF-8"
	}
	return append(environment, "LC_ALL="+locale)
}

// pythonOf returns the Python interpreter in the first lines of a program, such as that of a virtual environment. It
// returns python3 if it finds none.
func pythonOf(program string) string {
	const fallback = "python3"
	f, err := os.Open(program)
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
