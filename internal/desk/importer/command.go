package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

// command is the command of a line, with the ids that it depends on.
type command struct {
	client.Command
	unlimited bool     // of an account: its overdraft is unlimited
	effective string   // of a transaction: its effective time in the form of events.FormatTime, "" for none
	assets    []string // must be registered before
	accounts  []string // of a transaction: must be opened before; of an end or a reversal: see Import.keys
	debits    []pair   // of a transaction: what it debits for certain
	postings  int      // how many it counts in a batch, see client.BatchPostingsMax
}

// pair is an account and an asset.
type pair struct{ account, asset string }

// endsOrReverses reports whether the command is for an earlier transaction, whose accounts it does not name.
func (c command) endsOrReverses() bool {
	return c.Kind == client.KindCapture || c.Kind == client.KindRelease || c.Kind == client.KindReversal
}

// parse parses one line: an object with one member, whose name is the kind of the command. The server validates the
// body, including duplicate and unknown fields. parse requires only an id. A nil line is one that is too long.
func parse(line []byte) (command, error) {
	if line == nil {
		return command{}, errTooLong
	}
	members, err := object(line)
	if err != nil {
		return command{}, fmt.Errorf("not a JSON object: %w", err)
	}
	if len(members) != 1 {
		return command{}, fmt.Errorf("a line must have one command, but has %d members", len(members))
	}
	kind, body := client.Kind(members[0].name), members[0].value
	path, isKnown := idsOf[kind]
	if !isKnown {
		return command{}, fmt.Errorf("%q is not a command: must be asset, account, change, transaction, transfer, "+
			"trade, split, capture, release, reversal, group, grouping, member or group_member", string(kind))
	}
	fields, err := object(body)
	if err != nil {
		return command{}, fmt.Errorf("%s: not a JSON object: %w", kind, err)
	}
	c := command{Command: client.Command{Kind: kind, Body: body}}
	if err := c.takeIDs(fields, path); err != nil {
		return command{}, err
	}
	c.need(body)
	return c, nil
}

// idsOf has the fields of each kind of command that become parts of the path: what the command is for, and its own id.
// The id of the others stays in the body.
var idsOf = map[client.Kind][]string{
	client.KindAsset: {"id"}, client.KindAccount: {"id"}, client.KindChange: {"id"}, client.KindGroup: {"id"},
	client.KindTransaction: nil, client.KindTransfer: nil, client.KindTrade: nil, client.KindSplit: nil,
	client.KindCapture: {"transaction"}, client.KindRelease: {"transaction"}, client.KindReversal: {"transaction"},
	client.KindGrouping: {"group", "account"},
	client.KindMember:   {"account", "user"}, client.KindGroupMember: {"group", "user"},
}

// need collects the ids in the body. Members of wrong types are ignored, because the server refuses them.
func (c *command) need(body []byte) {
	var b struct {
		Currency, Asset, Buyer, Seller string
		From, To                       accountIDs
		Overdraft                      json.RawMessage
		Rates                          []struct{ Asset string }
		Postings                       []struct{ Account, Asset, Quantity string }
		EffectiveAt                    string `json:"effective_at"`
		Settle                         bool
	}
	_ = json.Unmarshal(body, &b)
	switch c.postings = len(b.Postings); {
	case c.postings > 0:
	case c.Kind == client.KindSplit:
		c.postings = len(b.From) + len(b.To)
	case c.Kind == client.KindTransfer, c.Kind == client.KindTrade && !b.Settle:
		c.postings = 2
	default:
		c.postings = 4
	}
	switch c.Kind {
	case client.KindAsset:
		c.assets = named(b.Currency)
	case client.KindAccount, client.KindChange:
		var o client.Overdraft
		_ = json.Unmarshal(b.Overdraft, &o)
		c.unlimited, c.assets = o.Unlimited, slices.Collect(maps.Keys(o.Limits))
		for _, r := range b.Rates {
			c.assets = append(c.assets, named(r.Asset)...)
		}
	default: // the currency of a traded asset was registered before the asset
		if at, ok := events.ReadTime(b.EffectiveAt); ok {
			c.effective = events.FormatTime(at)
		}
		c.assets, c.accounts = named(b.Asset), named(slices.Concat(b.From, b.To, accountIDs{b.Buyer, b.Seller})...)
		for _, debited := range named(append(b.From, b.Seller)...) {
			c.debits = append(c.debits, pair{debited, b.Asset})
		}
		for _, p := range b.Postings {
			c.assets = append(c.assets, named(p.Asset)...)
			c.accounts = append(c.accounts, named(p.Account)...)
			if strings.HasPrefix(p.Quantity, "-") {
				c.debits = append(c.debits, pair{p.Account, p.Asset})
			}
		}
	}
}

// accountIDs are the accounts from or to which a transfer or a split moves something.
type accountIDs []string

// UnmarshalJSON reads an id, or a list of objects with ids.
func (ids *accountIDs) UnmarshalJSON(text []byte) error {
	var id string
	if err := json.Unmarshal(text, &id); err == nil {
		*ids = accountIDs{id}
		return nil
	}
	var items []struct{ Account string }
	_ = json.Unmarshal(text, &items) // the server refuses what is of another type
	for _, p := range items {
		*ids = append(*ids, p.Account)
	}
	return nil
}

// named returns the ids that are not empty.
func named(ids ...string) []string {
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

// member is one member of a JSON object, with its value as raw text.
type member struct {
	name  string
	value json.RawMessage
}

// object parses the members of a JSON object in their order, including duplicates. No data may follow the object.
func object(text []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	start, err := d.Token()
	if err != nil {
		return nil, malformed(err)
	}
	if start != json.Delim('{') {
		return nil, errors.New("it does not begin with {")
	}
	var members []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, malformed(err)
		}
		var m member
		m.name, _ = name.(string) // a decoder gives strings for names
		if err := d.Decode(&m.value); err != nil {
			return nil, malformed(err)
		}
		members = append(members, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, malformed(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data follows it")
	}
	return members, nil
}

func malformed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	return err
}

// takeIDs sets the ids of the command. The ids that become parts of the path are taken out of the body.
func (c *command) takeIDs(fields []member, path []string) error {
	var ids []string
	for _, name := range path {
		id, others, err := takeID(fields, name)
		if err == nil && !events.ValidID(id) {
			err = fmt.Errorf("%q is not an id: %w", id, client.ErrID)
		}
		if err != nil {
			return fmt.Errorf("%s.%s: %w", c.Kind, name, err)
		}
		ids, fields = append(ids, id), others
	}
	switch {
	case len(path) == 0, c.Kind == client.KindReversal:
		id, _, err := takeID(fields, "id")
		if err != nil {
			return fmt.Errorf("%s.id: %w", c.Kind, err)
		}
		ids = append(ids, id)
	case c.Kind == client.KindCapture, c.Kind == client.KindRelease:
		ids = append(ids, ids[0])
	case c.Kind == client.KindGrouping && len(fields) > 0:
		return fmt.Errorf("grouping.%s: must not be given", fields[0].name)
	}
	if c.ID = ids[len(ids)-1]; len(ids) > 1 {
		c.Of = ids[0]
	}
	if len(path) > 0 {
		c.Body = text(fields)
	}
	return nil
}

// takeID returns the id in a field of a command, and the other fields.
func takeID(fields []member, name string) (id string, others []member, err error) {
	ids := 0
	for _, f := range fields {
		if f.name != name {
			others = append(others, f)
			continue
		}
		if ids++; json.Unmarshal(f.value, &id) != nil {
			return "", nil, errors.New("must be a string")
		}
	}
	switch {
	case ids > 1:
		return "", nil, errors.New("is given twice")
	case id == "":
		return "", nil, errors.New("is missing; only a line with an id can be retried safely")
	}
	return id, others, nil
}

// text returns an object with some fields, unchanged.
func text(fields []member) []byte {
	all := []byte("{")
	for i, f := range fields {
		if i > 0 {
			all = append(all, ',')
		}
		name, _ := json.Marshal(f.name) // of a text, it never fails
		all = append(append(append(all, name...), ':'), f.value...)
	}
	return append(all, '}')
}

// maxLineBytes bounds a line including its end. It is four times the largest body that the API takes.
const maxLineBytes = 1 << 20

var (
	errTooLong    = errors.New("the line is longer than 1 MiB")
	byteOrderMark = []byte("\xef\xbb\xbf")
)

// line is a line of the file that is not blank.
type line struct {
	number int    // from 1, counting blank lines
	text   []byte // without the end of line; valid until the next line is read; nil: longer than maxLineBytes
	bytes  int64  // including the end of line and preceding blank lines
}

// Count returns the number of lines of a file that are not blank, as in Counts.
func Count(file io.Reader) (n int64, err error) {
	for _, err := range lines(file) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// lines reads a file line by line, with one line in memory. An error of the file ends the sequence.
func lines(file io.Reader) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		in := bufio.NewReaderSize(file, maxLineBytes)
		l := line{}
		for ended := false; !ended; {
			text, err := in.ReadSlice('\n')
			isTooLong := errors.Is(err, bufio.ErrBufferFull)
			l.bytes += int64(len(text))
			for errors.Is(err, bufio.ErrBufferFull) { // skip the rest of the line
				text, err = in.ReadSlice('\n')
				l.bytes += int64(len(text))
			}
			if ended = errors.Is(err, io.EOF); err != nil && !ended {
				yield(line{}, err)
				return
			}
			l.number++
			l.text = bytes.TrimSuffix(text, []byte("\n"))
			if l.number == 1 {
				l.text = bytes.TrimPrefix(l.text, byteOrderMark)
			}
			switch {
			case isTooLong:
				l.text = nil
			case len(bytes.TrimSpace(l.text)) == 0:
				continue
			}
			if !yield(l, nil) {
				return
			}
			l.bytes = 0
		}
	}
}
