package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"ledger.example/cmd/ledger/client"
	"ledger.example/events"
)

// command is what a line asks for.
type command struct {
	client.Command
	unlimited bool     // of an account: it may owe without limit
	assets    []string // that must be registered before
	accounts  []string // that must be opened before; those that a transaction moves
}

// parse reads one line: an object with one member, named after its kind. What it holds is the server's to judge, down to
// doubled and unknown fields; only the id is needed here.
func parse(text []byte) (command, error) {
	members, err := object(text)
	if err != nil {
		return command{}, fmt.Errorf("not a JSON object: %w", err)
	}
	if len(members) != 1 {
		return command{}, fmt.Errorf("a line holds one command, this one has %d members", len(members))
	}
	kind, body := client.Kind(members[0].name), members[0].value
	switch kind {
	case client.KindAsset, client.KindAccount, client.KindTransaction, client.KindTransfer, client.KindTrade:
	default:
		return command{}, fmt.Errorf("%q is none of asset, account, transaction, transfer and trade", string(kind))
	}
	fields, err := object(body)
	if err != nil {
		return command{}, fmt.Errorf("%s: not a JSON object: %w", kind, err)
	}
	id, others, err := takeID(fields)
	if err != nil {
		return command{}, fmt.Errorf("%s.id: %w", kind, err)
	}
	c := command{Command: client.Command{Kind: kind, ID: id, Body: body}}
	if kind == client.KindAsset || kind == client.KindAccount {
		if !events.ValidID(id) { // it stands in the path
			return command{}, fmt.Errorf("%s.id: %q is not an id: %w", kind, id, client.ErrID)
		}
		c.Body = others
	}
	c.need(body)
	return c, nil
}

// need collects what the body names. Members of wrong types name nothing: the server refuses them.
func (c *command) need(body []byte) {
	switch c.Kind {
	case client.KindAsset:
		var a struct{ Currency string }
		_ = json.Unmarshal(body, &a)
		c.assets = named(a.Currency)
	case client.KindAccount:
		var a struct{ Overdraft json.RawMessage }
		_ = json.Unmarshal(body, &a)
		c.unlimited = client.Unlimited(a.Overdraft)
		var limits map[string]json.RawMessage
		_ = json.Unmarshal(a.Overdraft, &limits)
		for asset := range limits {
			c.assets = append(c.assets, asset)
		}
	case client.KindTransaction:
		var t struct {
			Postings []struct{ Account, Asset string }
		}
		_ = json.Unmarshal(body, &t)
		for _, p := range t.Postings {
			c.assets = append(c.assets, named(p.Asset)...)
			c.accounts = append(c.accounts, named(p.Account)...)
		}
	case client.KindTransfer:
		var t struct{ From, To, Asset string }
		_ = json.Unmarshal(body, &t)
		c.assets, c.accounts = named(t.Asset), named(t.From, t.To)
	case client.KindTrade:
		// The currency of the asset was registered before the asset, or the asset is refused.
		var t struct{ Asset, Buyer, Seller string }
		_ = json.Unmarshal(body, &t)
		c.assets, c.accounts = named(t.Asset), named(t.Buyer, t.Seller)
	}
}

func named(ids ...string) []string {
	var given []string
	for _, id := range ids {
		if id != "" {
			given = append(given, id)
		}
	}
	return given
}

// member is one member of a JSON object, its value as it stands in the text.
type member struct {
	name  string
	value json.RawMessage
}

// object reads the members of a JSON object in their order, doubled ones too. Nothing may follow it.
func object(text []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	start, err := d.Token()
	if err != nil {
		return nil, malformed(err)
	}
	if start != json.Delim('{') {
		return nil, errors.New("it begins with something else")
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
		return nil, errors.New("something follows it")
	}
	return members, nil
}

func malformed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	return err
}

// takeID returns the id among the fields of a command, and an object of the other fields as they stand.
func takeID(fields []member) (id string, others []byte, err error) {
	found := 0
	var b bytes.Buffer
	b.WriteByte('{')
	for _, f := range fields {
		if f.name == "id" {
			found++
			if err := json.Unmarshal(f.value, &id); err != nil {
				return "", nil, errors.New("it must be a string")
			}
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return "", nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(f.value)
	}
	b.WriteByte('}')
	switch {
	case found > 1:
		return "", nil, errors.New("it is given twice")
	case id == "":
		return "", nil, errors.New("it is missing, and without one the line could not be sent again safely")
	}
	return id, b.Bytes(), nil
}
