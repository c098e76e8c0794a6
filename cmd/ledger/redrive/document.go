package redrive

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

const (
	// documentBytes is the longest document that is read. Lambda hands at most 6 MB to a function (AWS, Lambda quotas), and
	// as text in JSON that may become a few times as long.
	documentBytes = 64 << 20
	readBytes     = 64 << 10
)

// document is a part of a file that holds one JSON object, or several that follow one another.
type document struct {
	line int // from 1: where it begins
	text []byte
}

// documents splits a file. A document begins at each line that begins with a brace: so a line that a crash cut off spoils no
// other, and an object that somebody wrote over many lines is one, as long as these are indented. With an error comes the
// line that it happened at; only ErrTooLong lets the file go on.
func documents(r io.Reader, most int) iter.Seq2[document, error] {
	return func(yield func(document, error) bool) {
		in := bufio.NewReaderSize(r, readBytes)
		var d document
		long := false
		emit := func() bool {
			out, tooLong := d, long
			d, long = document{}, false
			out.text = bytes.TrimSpace(out.text)
			switch {
			case tooLong:
				return yield(document{line: out.line}, ErrTooLong)
			case len(out.text) == 0:
				return true
			}
			return yield(out, nil)
		}
		for line := 1; ; line++ {
			first, err := in.Peek(1)
			if err == nil && first[0] == '{' && !emit() {
				return
			}
			if len(bytes.TrimSpace(d.text)) == 0 && !long {
				d = document{line: line}
			}
			for whole := false; err == nil && !whole; {
				var piece []byte
				piece, err = in.ReadSlice('\n')
				whole = err == nil
				if errors.Is(err, bufio.ErrBufferFull) {
					err = nil
				}
				if long = long || len(d.text)+len(piece) > most; long {
					d.text = nil
				} else {
					d.text = append(d.text, piece...)
				}
			}
			if err != nil {
				if emit() && !errors.Is(err, io.EOF) {
					yield(document{line: line}, err)
				}
				return
			}
		}
	}
}
