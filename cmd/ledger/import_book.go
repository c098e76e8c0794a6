package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/books"
	"ledger.example/internal/importer"
)

// formatLines is the format of JSON lines.
const formatLines = "jsonl"

// countedBytes is the maximum size of a file whose lines are counted before the import.
const countedBytes = 1 << 30

// formatOfExtension has the formats of books by file extension. Files with other extensions have JSON lines.
var formatOfExtension = map[string]string{
	".journal": "hledger", ".hledger": "hledger", ".j": "hledger",
	".ledger": "ledger", ".ldg": "ledger", ".dat": "ledger",
	".beancount": "beancount", ".bean": "beancount",
}

// formatOf returns the format of a file: --format, or that of its extension.
func formatOf(name string, o importOptions) (string, error) {
	format := o.format
	if format == "" {
		format = formatOfExtension[filepath.Ext(name)]
	}
	switch {
	case format == "" || format == formatLines:
		if len(o.scales) > 0 || o.program != "" {
			return "", usageErrorf("--scale and --program are for books of %s", books.Formats)
		}
		return formatLines, nil
	case !books.IsFormat(format):
		return "", usageErrorf("--format %s: must be one of %s, %s", format, formatLines, books.Formats)
	case name == "-":
		return "", usageErrorf("a book of %s must be a file, because it may include other files", format)
	}
	for commodity, scale := range o.scales {
		if scale < 0 || scale > events.ScaleMax {
			return "", usageErrorf("--scale %s=%d: must be 0 to %d", commodity, scale, events.ScaleMax)
		}
	}
	return format, nil
}

// imported is what to import. size and lines are -1 if they are unknown.
type imported struct {
	io.ReadCloser
	size, lines int64
	position    func(line int) string // for people
}

// openLines opens a file of lines. It counts the lines if that takes less than a second or so.
func (env *environment) openLines(ctx context.Context, name string) (imported, error) {
	file, size, err := env.openInput(ctx, name)
	in := imported{file, size, -1, func(line int) string { return "line " + strconv.Itoa(line) }}
	if f, ok := file.(io.Seeker); err == nil && ok && size >= 0 && size <= countedBytes {
		if in.lines, err = importer.Count(file); err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
	}
	return in, err
}

// openBook reads a book with its program, validates all of it, and returns it as lines to import. It is an error if any
// part of the book cannot be imported.
func (env *environment) openBook(
	ctx context.Context, api *client.Client, format, name string, o importOptions,
) (in imported, err error) {
	book, err := books.Read(ctx, format, o.program, name)
	if err != nil {
		return in, err
	}
	lines, problems, err := book.Lines(ctx, books.Options{Ledger: api, Scales: o.scales, Now: time.Now()})
	if err != nil {
		return in, err
	}
	for n, p := range problems {
		if o.maxErrors > 0 && n == o.maxErrors {
			_, _ = fmt.Fprintln(env.err, "…")
			break
		}
		_, _ = fmt.Fprintln(env.err, p)
	}
	if len(problems) > 0 {
		return in, fmt.Errorf("the book has %s: nothing was imported",
			counted(int64(len(problems)), "problem", "problems"))
	}
	for _, note := range lines.Notes {
		_, _ = fmt.Fprintln(env.err, note)
	}
	return imported{io.NopCloser(lines.Reader()), int64(len(lines.Text)), int64(len(lines.Positions)),
		func(line int) string { return cmp.Or(lines.Positions[line-1].String(), name) }}, nil
}
