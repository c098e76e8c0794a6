package redrive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"ledger.example/internal/table"
	"ledger.example/projections"
)

const (
	// maxDocument is the maximum length of a document, in bytes. Lambda passes at most 6 MB to a function (AWS, Lambda
	// quotas). Escaped as text in JSON, that may become a few times longer.
	maxDocument = 64 << 20
	readBuffer  = 64 << 10
)

// Errors of dead letters. Each text says what to do.
var (
	ErrCutOff = errors.New("it is truncated: start the pump again within a day, so that it writes the record again, " +
		"or copy the object from the bucket again; otherwise run `ledger rebuild`")
	ErrTooLong = fmt.Errorf("it is longer than %d MB, and the rest of the file is skipped: run `ledger rebuild`",
		maxDocument>>20)
	ErrNotDeadLetter = errors.New("it is neither a dead letter of Lambda or the pump, nor an event of a table's stream")
	ErrOnlyPointer   = errors.New("it has only a position in the stream and no records, like messages in queues and " +
		"topics: run `ledger rebuild`")
	ErrNoKey        = errors.New("the record has no key: run `ledger rebuild`")
	ErrMalformedKey = errors.New("the key of a projected event is malformed")
)

// Place is a position in a file.
type Place struct {
	File   string
	Line   int // from 1, where the document begins; 0: the entire file
	Record int // from 1, within its event; 0: the entire document
}

// String is "file:line, record 3".
func (p Place) String() string {
	text := p.File
	if p.Line > 0 {
		text += fmt.Sprintf(":%d", p.Line)
	}
	if p.Record > 0 {
		text += fmt.Sprintf(", record %d", p.Record)
	}
	return text
}

// record is one record of the stream.
type record struct {
	place  Place
	key    table.Key
	target projections.Target // zero: the item is not projected
}

// records yields the records of a file. With an error it yields the place, and continues after it. Only ErrTooLong and
// an error of the reader end it.
//
// Each line that begins with a brace begins a document. So a truncated line does not affect the next one, and an object
// may span several lines if they are indented.
func records(r io.Reader, file string) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		in := bufio.NewScanner(r)
		in.Buffer(make([]byte, readBuffer), maxDocument)
		in.Split(splitDocuments)
		place, next := Place{File: file}, 1
		for in.Scan() {
			text := bytes.TrimSpace(in.Bytes())
			before, _, _ := bytes.Cut(in.Bytes(), text)
			place.Line = next + bytes.Count(before, []byte("\n"))
			next += bytes.Count(in.Bytes(), []byte("\n"))
			if !readDocument(text, place, yield) {
				return
			}
		}
		switch err := in.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(record{place: Place{File: file, Line: next}}, ErrTooLong)
		case err != nil:
			yield(record{place: place}, err)
		}
	}
}

// splitDocuments is a bufio.SplitFunc.
func splitDocuments(data []byte, atEOF bool) (advance int, document []byte, err error) {
	if i := bytes.Index(data, []byte("\n{")); i >= 0 {
		return i + 1, data[:i+1], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// readDocument yields the records of the objects in a document. It reports whether to continue.
func readDocument(text []byte, at Place, yield func(record, error) bool) bool {
	for in := json.NewDecoder(bytes.NewReader(text)); ; {
		var object json.RawMessage
		switch err := in.Decode(&object); {
		case errors.Is(err, io.EOF):
			return true
		case errors.Is(err, io.ErrUnexpectedEOF):
			return yield(record{place: at}, ErrCutOff)
		case err != nil:
			return yield(record{place: at}, fmt.Errorf("%w: %w", ErrNotDeadLetter, err))
		}
		list, err := recordsOf(object)
		if err != nil && !yield(record{place: at}, err) {
			return false
		}
		for i, raw := range list {
			found, err := recordOf(raw)
			found.place = at
			found.place.Record = i + 1
			if !yield(found, err) {
				return false
			}
		}
	}
}

// recordsOf returns the records of a dead letter as JSON. A dead letter is an invocation record (AWS, Lambda Developer
// Guide, "Retain discarded batch records for a DynamoDB event source"), or only the event.
func recordsOf(object []byte) ([]json.RawMessage, error) {
	var letter struct {
		Payload json.RawMessage // the event, as text or as JSON; only S3 and the pump get it
		Batch   *struct{}       `json:"DDBStreamBatchInfo"`
		Records []json.RawMessage
	}
	if err := json.Unmarshal(object, &letter); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotDeadLetter, err)
	}
	payload, text := []byte(letter.Payload), ""
	if json.Unmarshal(payload, &text) == nil {
		payload = []byte(text)
	}
	if len(payload) > 0 {
		if err := json.Unmarshal(payload, &letter); err != nil {
			return nil, fmt.Errorf("%w: payload: %w", ErrNotDeadLetter, err)
		}
	}
	switch {
	case letter.Records != nil:
		return letter.Records, nil
	case letter.Batch != nil && len(payload) == 0:
		return nil, ErrOnlyPointer
	}
	return nil, ErrNotDeadLetter
}

// recordOf decodes only the key of a record. Errors: ErrNoKey, ErrMalformedKey.
func recordOf(raw json.RawMessage) (record, error) {
	var r struct {
		DynamoDB struct {
			Keys map[string]struct{ S *string }
		} `json:"dynamodb"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return record{}, ErrNoKey
	}
	pk, sk := r.DynamoDB.Keys[table.AttrPK].S, r.DynamoDB.Keys[table.AttrSK].S
	if pk == nil || sk == nil {
		return record{}, ErrNoKey
	}
	k := table.Key{PK: *pk, SK: *sk}
	target, ok := projections.TargetOf(k)
	if !ok {
		return record{}, fmt.Errorf("%w: %q, %q", ErrMalformedKey, k.PK, k.SK)
	}
	return record{key: k, target: target}, nil
}
