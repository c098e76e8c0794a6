package redrive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// What can be wrong with what was set aside. All say what to do.
var (
	ErrCutOff = errors.New("its end is missing: the pump's file is written again when the pump is started within a day, an object " +
		"can be copied again; else run `ledger rebuild`")
	ErrTooLong      = fmt.Errorf("it is longer than %d MB: run `ledger rebuild`", documentBytes>>20)
	ErrNotSetAside  = errors.New("it is neither what Lambda or the pump set aside, nor an event of a table's stream")
	ErrOnlyPointer  = errors.New("it names a stretch of the stream and holds no records, as queues and topics get it: run `ledger rebuild`")
	ErrNoKey        = errors.New("the record has no key: run `ledger rebuild`")
	ErrMalformedKey = errors.New("the key is that of a posting or a grant, and cannot be read")
)

// Place is where something was found.
type Place struct {
	File   string
	Line   int // from 1, where the document begins; 0: the file as a whole
	Record int // from 1, within its event; 0: the document as a whole
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

// record is one record that was set aside.
type record struct {
	Place
	key table.Key
}

// setAside is what is read of an invocation record (AWS, Lambda Developer Guide, "Retain discarded batch records for a DynamoDB
// event source"), or of an event itself.
type setAside struct {
	Payload json.RawMessage // only S3 and the pump get it: the event, as text; as JSON it is taken, too
	Batch   json.RawMessage `json:"DDBStreamBatchInfo"`
	event
}

type event struct {
	Records json.RawMessage `json:"Records"`
}

// change is what is read of a record: the types of a table's keys are known, and nothing else is looked at.
type change struct {
	DynamoDB struct {
		Keys map[string]struct{ S *string }
	} `json:"dynamodb"`
}

// records reads a file. With an error comes the place that it is about, and the file goes on behind it; only an error of the
// reader itself ends it.
func records(r io.Reader, file string) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for d, err := range documents(r, documentBytes) {
			at := Place{File: file, Line: d.line}
			if err != nil {
				if !yield(record{Place: at}, err) {
					return
				}
				continue
			}
			if !d.records(at, yield) {
				return
			}
		}
	}
}

// records reads the objects of a document, and tells whether to go on.
func (d document) records(at Place, yield func(record, error) bool) bool {
	in := json.NewDecoder(bytes.NewReader(d.text))
	for {
		var s setAside
		err := in.Decode(&s)
		var wrongType *json.UnmarshalTypeError
		switch {
		case errors.Is(err, io.EOF):
			return true
		case errors.Is(err, io.ErrUnexpectedEOF):
			return yield(record{Place: at}, ErrCutOff)
		case errors.As(err, &wrongType): // the object was read to its end
			err = ErrNotSetAside
		case err != nil:
			return yield(record{Place: at}, fmt.Errorf("%w: %w", ErrNotSetAside, err))
		}
		var list []json.RawMessage
		if err == nil {
			list, err = s.list()
		}
		if err != nil {
			if !yield(record{Place: at}, err) {
				return false
			}
			continue
		}
		for i, raw := range list {
			r := record{Place: at}
			r.Record = i + 1
			r.key, err = keyOf(raw)
			if !yield(r, err) {
				return false
			}
		}
	}
}

// list returns the records of an invocation record.
func (s setAside) list() ([]json.RawMessage, error) {
	e := s.event
	if present(s.Payload) {
		raw := []byte(s.Payload)
		if raw[0] == '"' {
			var text string
			if err := json.Unmarshal(raw, &text); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrNotSetAside, err)
			}
			raw = []byte(text)
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("%w: payload: %w", ErrNotSetAside, err)
		}
	}
	switch {
	case present(e.Records):
	case present(s.Payload):
		return nil, fmt.Errorf("%w: the payload has no records", ErrNotSetAside)
	case present(s.Batch):
		return nil, ErrOnlyPointer
	default:
		return nil, ErrNotSetAside
	}
	var list []json.RawMessage
	if err := json.Unmarshal(e.Records, &list); err != nil {
		return nil, fmt.Errorf("%w: records: %w", ErrNotSetAside, err)
	}
	return list, nil
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// keyOf reads a record's key. Errors: ErrNoKey, ErrMalformedKey.
func keyOf(raw json.RawMessage) (table.Key, error) {
	var c change
	if err := json.Unmarshal(raw, &c); err != nil {
		return table.Key{}, ErrNoKey
	}
	pk, sk := c.DynamoDB.Keys[table.AttrPK].S, c.DynamoDB.Keys[table.AttrSK].S
	if pk == nil || sk == nil {
		return table.Key{}, ErrNoKey
	}
	k := table.Key{PK: *pk, SK: *sk}
	if _, _, err := pairOf(k); err != nil {
		return table.Key{}, fmt.Errorf("%w: %q, %q", err, k.PK, k.SK)
	}
	return k, nil
}

// Pair is what is brought up to date by itself: the balance of an account in an asset, or the membership of a user.
type Pair struct{ Account, Asset, User string }

// String is "jane USD", or "jane, member u-17".
func (p Pair) String() string {
	if p.Asset == "" {
		return p.Account + ", member " + p.User
	}
	return p.Account + " " + p.Asset
}

// pairOf returns what the item of a key belongs to; ours is false where it is nothing that is projected. Error:
// ErrMalformedKey.
func pairOf(k table.Key) (p Pair, ours bool, err error) {
	ok := true
	switch {
	case table.IsPosting(k.SK):
		var id string
		if p.Account, p.Asset, id, ok = table.ParsePosting(k); ok {
			_, err := events.ParseKSUID(id)
			ok = err == nil
		}
	case table.IsGrant(k.SK):
		p.Account, p.User, _, ok = table.ParseGrant(k)
	default:
		return Pair{}, false, nil
	}
	if !ok || !events.ValidID(p.Account) || p.Asset != "" && !events.ValidID(p.Asset) || p.User != "" && !events.ValidID(p.User) {
		return Pair{}, false, ErrMalformedKey
	}
	return p, true, nil
}
