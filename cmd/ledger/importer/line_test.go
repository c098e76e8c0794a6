package importer

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", maxLineBytes)
	for name, c := range map[string]struct {
		file string
		want []line
	}{
		"empty":             {"", nil},
		"blank lines":       {"\n \t\r\n\n", nil},
		"plain":             {"a\nb\n", []line{{number: 1, text: []byte("a"), bytes: 2}, {number: 2, text: []byte("b"), bytes: 2}}},
		"no end":            {"a\nb", []line{{number: 1, text: []byte("a"), bytes: 2}, {number: 2, text: []byte("b"), bytes: 1}}},
		"blanks between":    {"\na\n\n\nb\n", []line{{number: 2, text: []byte("a"), bytes: 3}, {number: 5, text: []byte("b"), bytes: 4}}},
		"byte order mark":   {"\xef\xbb\xbfa\n", []line{{number: 1, text: []byte("a"), bytes: 5}}},
		"mark further down": {"a\n\xef\xbb\xbf\n", []line{{number: 1, text: []byte("a"), bytes: 2}, {number: 2, text: []byte("\xef\xbb\xbf"), bytes: 4}}},
		"longest": {long + "\nb\n", []line{
			{number: 1, text: []byte(long), bytes: maxLineBytes + 1}, {number: 2, text: []byte("b"), bytes: 2}}},
		"too long": {"a\nx" + long + "\nb\n", []line{
			{number: 1, text: []byte("a"), bytes: 2}, {number: 2, err: errLineTooLong, bytes: maxLineBytes + 2}, {number: 3, text: []byte("b"), bytes: 2}}},
		"too long at the end": {"xx" + long, []line{{number: 1, err: errLineTooLong, bytes: maxLineBytes + 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLines(iotest.HalfReader(strings.NewReader(c.file)))
			for i, want := range c.want {
				got, err := l.next()
				if err != nil || got.number != want.number || !bytes.Equal(got.text, want.text) || got.bytes != want.bytes || got.err != want.err {
					t.Fatalf("line %d: number %d, %d bytes of text, %d bytes, %v, %v; want number %d, %d, %d, %v",
						i, got.number, len(got.text), got.bytes, got.err, err, want.number, len(want.text), want.bytes, want.err)
				}
			}
			if got, err := l.next(); !errors.Is(err, io.EOF) {
				t.Errorf("one more: %+v, %v", got, err)
			}
		})
	}
}

func TestAFileThatCannotBeReadOn(t *testing.T) {
	broken := errors.New("broken")
	l := newLines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if got, err := l.next(); err != nil || string(got.text) != "a" {
		t.Fatalf("first: %q, %v", got.text, err)
	}
	if got, err := l.next(); !errors.Is(err, broken) {
		t.Errorf("half a line passes for a whole one: %q, %v", got.text, err)
	}
}
