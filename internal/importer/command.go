package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
}

// endsOrReverses reports whether the command is for an earlier transaction, whose accounts it does not name.
func (c command) endsOrReverses() bool { return c.Of != "" }

// parse parses one line: an object with one member, whose name is the kind of the command. The server validates the
// body, including duplicate and unknown fields. parse requires only an id, and the cost of a trade, because older
// servers post a trade without a cost. A nil text is a line that is too long.
func parse(text []byte) (command, error) {
	if text == nil {
		return command{}, errTooLong
	}
	members, err := object(text)
	if err != nil {
		return command{}, fmt.Errorf("not a JSON object: %w", err)
	}
	if len(members) != 1 {
		return command{}, fmt.Errorf("a line must have one command, but has %d members", len(members))
	}
	kind, body := client.Kind(members[0].name), members[0].value
	switch kind {
	case client.KindAsset, client.KindAccount, client.KindTransaction, client.KindTransfer, client.KindTrade,
		client.KindChange, client.KindCapture, client.KindRelease, client.KindReversal:
	default:
		return command{}, fmt.Errorf("%q is not a command: must be asset, account, change, transaction, transfer, "+
			"trade, capture, release or reversal", string(kind))
	}
	fields, err := object(body)
	if err != nil {
		return command{}, fmt.Errorf("%s: not a JSON object: %w", kind, err)
	}
	c := command{Command: client.Command{Kind: kind, Body: body}}
	if err := c.takeIDs(fields); err != nil {
		return command{}, err
	}
	if kind == client.KindTrade && !slices.ContainsFunc(fields, func(f member) bool { return f.name == "cost" }) {
		return command{}, errors.New(`trade.cost: is missing; for a free trade, write "cost":"0"`)
	}
	c.need(body)
	return c, nil
}

// need collects the ids in the body. Members of wrong types are ignored, because the server refuses them.
func (c *command) need(body []byte) {
	var b struct {
		Currency, Asset, From, To, Buyer, Seller string
		Overdraft                                json.RawMessage
		Postings                                 []struct{ Account, Asset string }
		EffectiveAt                              string `json:"effective_at"`
	}
	_ = json.Unmarshal(body, &b)
	switch c.Kind {
	case client.KindAsset:
		c.assets = named(b.Currency)
	case client.KindAccount, client.KindChange:
		var o client.Overdraft
		_ = json.Unmarshal(b.Overdraft, &o)
		c.unlimited, c.assets = o.Unlimited, slices.Collect(maps.Keys(o.Limits))
	default: // the currency of a traded asset was registered before the asset
		if at, ok := events.ReadTime(b.EffectiveAt); ok {
			c.effective = events.FormatTime(at)
		}
		c.assets, c.accounts = named(b.Asset), named(b.From, b.To, b.Buyer, b.Seller)
		for _, p := range b.Postings {
			c.assets = append(c.assets, named(p.Asset)...)
			c.accounts = append(c.accounts, named(p.Account)...)
		}
	}
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

// takeIDs sets the ids of the command. The id that becomes a part of the path is taken out of the body.
func (c *command) takeIDs(fields []member) error {
	take := func(name string) (id string, others []byte, err error) {
		if id, others, err = takeID(fields, name); err != nil {
			err = fmt.Errorf("%s.%s: %w", c.Kind, name, err)
		}
		return id, others, err
	}
	name, inPath := "id", ""
	var err error
	switch c.Kind {
	case client.KindCapture, client.KindRelease:
		name = "transaction"
		c.Of, c.Body, err = take(name)
		c.ID, inPath = c.Of, c.Of
	case client.KindReversal:
		if c.ID, _, err = take("id"); err != nil {
			return err
		}
		name = "transaction"
		c.Of, c.Body, err = take(name)
		inPath = c.Of
	case client.KindAsset, client.KindAccount, client.KindChange:
		c.ID, c.Body, err = take(name)
		inPath = c.ID
	default:
		c.ID, _, err = take(name)
		return err
	}
	if err == nil && !events.ValidID(inPath) {
		err = fmt.Errorf("%s.%s: %q is not an id: %w", c.Kind, name, inPath, client.ErrID)
	}
	return err
}

// takeID returns the id in a field of a command, and an object with the other fields, unchanged.
func takeID(fields []member, name string) (id string, others []byte, err error) {
	var rest []string
	ids := 0
	for _, f := range fields {
		if f.name == name {
			ids++
			if err := json.Unmarshal(f.value, &id); err != nil {
				return "", nil, errors.New("must be a string")
			}
			continue
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return "", nil, err
		}
		rest = append(rest, string(name)+":"+string(f.value))
	}
	switch {
	case ids > 1:
		return "", nil, errors.New("is given twice")
	case id == "":
		return "", nil, errors.New("is missing; only a line with an id can be retried safely")
	}
	return id, []byte("{" + strings.Join(rest, ",") + "}"), nil
}
