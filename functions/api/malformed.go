package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

var errObject = errors.New("is not a JSON object")

// malformed says what is wrong with a text that is not JSON.
func malformed(text []byte) error {
	if at := tooDeep(text); at > 0 {
		return nestedError(at)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	var first json.RawMessage
	err := d.Decode(&first)
	switch {
	case err == io.EOF:
		return errors.New("is empty: send a JSON object")
	case err == io.ErrUnexpectedEOF:
		return errors.New("ends within its JSON object")
	case err != nil:
		at := d.InputOffset()
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = max(at, e.Offset)
		}
		return fmt.Errorf("is not JSON: %w, near byte %d", err, at)
	case valueKind(first[0]) != anObject:
		return errObject
	}
	return fmt.Errorf("goes on after its JSON object, which ends at byte %d", d.InputOffset())
}

func nestedError(at int) error {
	return fmt.Errorf("is nested more than %d deep at byte %d", DepthMax, at)
}

// tooDeep returns the byte after the first bracket of a text that opens one too many, 0 when there is none.
func tooDeep(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > DepthMax {
				return i + 1
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return 0
}

// halfSurrogate tells whether a JSON string's source holds a \u escape of half a surrogate pair.
func halfSurrogate(source string) bool {
	for i := 0; i+1 < len(source); i++ {
		if source[i] != '\\' {
			continue
		}
		i++
		if source[i] != 'u' {
			continue
		}
		high := hex4(source, i+1)
		i += 4
		switch {
		case high < 0xd800 || high > 0xdfff:
		case high > 0xdbff, i+2 >= len(source), source[i+1] != '\\', source[i+2] != 'u':
			return true
		default:
			if low := hex4(source, i+3); low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 6
		}
	}
	return false
}

// hex4 reads the four hexadecimal digits at i.
func hex4(source string, i int) uint64 {
	n, _ := strconv.ParseUint(source[i:i+4], 16, 16) // it is JSON: they are there
	return n
}
