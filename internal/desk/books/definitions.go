package books

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"ledger.example/client"
	"ledger.example/events"
)

// entries iterates over the entries of the book, prepared.
func (m *mapping) entries() entries {
	return func(yield func(Transaction, error) bool) {
		for t, err := range m.book.all() {
			if !yield(prepared(t), err) {
				return
			}
		}
	}
}

// prepared returns an entry without unbalanced virtual postings, and with the costs of TagCost.
func prepared(t Transaction) Transaction {
	t.Postings = slices.DeleteFunc(t.Postings, Posting.isUnbalanced)
	for i, p := range t.Postings {
		if cost := valueOf(p.Metadata, TagCost); cost != "" {
			if weight, err := parseCost(cost); err == nil {
				t.Postings[i].Weight = &weight
			}
		}
	}
	return t
}

func (p Posting) isUnbalanced() bool { return p.Virtual && !p.Quantity.Number.isZero() }

// check reports what prepared leaves out or cannot read.
func (m *mapping) check(t Transaction) {
	m.at = t.Position
	for _, p := range t.Postings {
		at := t.position(p)
		switch cost := valueOf(p.Metadata, TagCost); {
		case p.isUnbalanced() && m.SkipVirtual:
			m.note("unbalanced virtual postings are left out")
		case p.isUnbalanced():
			m.wrong(at, "(%s) is an unbalanced virtual posting, which a ledger cannot hold: --virtual skip imports "+
				"the book without such postings", p.Account)
		case cost != "":
			if _, err := parseCost(cost); err != nil {
				m.wrong(at, "%s: %v: correct the tag, or remove it", TagCost, err)
			}
		}
	}
}

// collect reads the entries for the first time. It assigns ids to all names, and reports names that cannot have one.
func (m *mapping) collect(ctx context.Context) error {
	for _, name := range m.book.Declared {
		m.accounts.add(name, Position{})
	}
	for t, err := range m.book.all() {
		if err != nil {
			return err
		}
		m.check(t)
		t = prepared(t)
		m.hasOlder = m.hasOlder || t.Date < m.Opening
		m.count(t)
		for _, p := range t.Postings {
			at := m.interned(t.position(p))
			m.accounts.add(p.Account, at)
			if m.accounts.first[p.Account] == (Position{}) { // it was only declared before
				m.accounts.first[p.Account] = at
			}
			for _, a := range p.amounts() {
				m.assets.add(a.Commodity, at)
			}
		}
	}
	m.checkOptions()
	if err := m.assign(ctx, "account", m.accounts, m.accountsOf()); err != nil {
		return err
	}
	return m.assign(ctx, "commodity", m.assets, m.assetsOf())
}

// interned returns a position whose path shares memory with others.
func (m *mapping) interned(at Position) Position {
	if file, ok := m.files[at.File]; ok {
		at.File = file
	} else {
		m.files[at.File] = at.File
	}
	return at
}

// checkOptions notes the names in options that the book does not have.
func (m *mapping) checkOptions() {
	for _, name := range slices.Sorted(maps.Keys(m.IDs)) {
		_, isAccount := m.accounts.first[name]
		if _, isAsset := m.assets.first[name]; !isAccount && !isAsset {
			m.out.Notes = append(m.out.Notes, fmt.Sprintf("--ids: the book has no account or commodity %q", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Scales)) {
		if _, isAsset := m.assets.first[name]; !isAsset {
			m.out.Notes = append(m.out.Notes, fmt.Sprintf("--scale: the book has no commodity %q", name))
		}
	}
}

func (m *mapping) assign(ctx context.Context, kind string, n *names, h *had) error {
	err := n.assign(ctx, h, func(name string, err error) { m.wrong(n.first[name], "%s %v", kind, err) })
	for _, name := range n.order {
		if m.at = n.first[name]; utf8.RuneCountInString(m.valid(name)) > events.NameChars {
			m.note(fmt.Sprintf("names are cut to %d characters", events.NameChars))
		}
	}
	for _, name := range n.hashed {
		m.at = n.first[name]
		m.note(fmt.Sprintf("the %s %q has the id %q, because another one has %q", kind, name, n.ids[name],
			shortID(name)))
	}
	return err
}

// position returns the position of a posting.
func (t Transaction) position(p Posting) Position {
	return Position{t.File, cmp.Or(p.Line, t.Line)}
}

func (p Posting) amounts() []Amount {
	if p.Weight == nil {
		return []Amount{p.Quantity}
	}
	return []Amount{p.Quantity, *p.Weight}
}

// nameOf returns the name of an asset or account: the name in the book, made valid, or the id if that is empty.
func nameOf(name, id string) string {
	if name = strings.ToValidUTF8(name, "?"); name == "" {
		return id
	}
	return cut(name, events.NameChars)
}

// cut returns at most the given number of characters of s.
func cut(s string, chars int) string {
	if r := []rune(s); len(r) > chars {
		return string(r[:chars])
	}
	return s
}

// isAbsent reports whether err is an answer of the ledger with the given code.
func isAbsent(err error, code string) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return ok && refused.Code == code
}

// reservedFor says what the accounts are for that no account of the book may be, if an entry needs them.
var reservedFor = map[string]string{
	Conversion: "currency conversions", Clearing: "entries that are posted in parts",
}

// defineAccounts writes a line for each account that the ledger does not have. An existing account must be open and
// unlimited, so that it accepts the book's postings in any order: see checkAccounts.
func (m *mapping) defineAccounts(ctx context.Context) error {
	for reserved := range m.reserved {
		if name, isUsed := m.accounts.names[reserved]; isUsed {
			m.wrong(m.accounts.first[name], "account %q is reserved for %s: give it another id by --ids",
				reserved, reservedFor[reserved])
		}
		m.accounts.ids[reserved] = reserved
	}
	for _, name := range slices.Sorted(maps.Keys(m.accounts.ids)) {
		accountID := m.accounts.ids[name]
		r, err := m.Ledger.Account(ctx, accountID)
		switch {
		case isAbsent(err, client.CodeAccountNotFound):
			m.define(m.accounts.first[name], client.KindAccount, client.Line[client.Account]{Request: client.Account{
				ID: accountID, Name: nameOf(name, accountID), Overdraft: client.Overdraft{Unlimited: true}}})
			continue
		case err != nil:
			return err
		case !r.Value.Overdraft.Unlimited:
			m.unusable[accountID] = "has a limit in the ledger, which could refuse postings: give the account of the " +
				"book another id by --ids"
		case r.Value.State == client.StateFrozen:
			m.unusable[accountID] = "is frozen in the ledger: run ledger account unfreeze " + accountID
		case r.Value.State != client.StateOpen:
			m.unusable[accountID] = "is closed in the ledger, for good: write the entry on another account. If no " +
				"entry of the account was imported, give it another id by --ids"
		}
		m.hasAccounts = true
	}
	return nil
}

// checkAccounts reports accounts that may refuse what is to be posted. Entries that the ledger has need no account.
func (m *mapping) checkAccounts() error {
	if len(m.unusable) == 0 {
		return nil
	}
	for r, err := range m.out.selected(func(e *entry) bool { return e.found == Another }) {
		var of client.TransactionRequest
		if err == nil {
			err = json.Unmarshal(r.text, &of)
		}
		if err != nil {
			return err
		}
		m.checkLegs(r.at, of.Postings)
	}
	return nil
}

// checkLegs reports each account once.
func (m *mapping) checkLegs(at Position, legs []client.Leg) {
	for _, leg := range legs {
		if why := m.unusable[leg.Account]; why != "" {
			m.wrong(at, "account %q %s", leg.Account, why)
			delete(m.unusable, leg.Account)
		}
	}
}
