package books

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

// withoutVirtual returns the entries without unbalanced virtual postings, which it refuses or leaves out.
func (m *mapping) withoutVirtual(transactions []Transaction) []Transaction {
	all := slices.Clone(transactions)
	for i, t := range all {
		all[i].Postings, m.at = nil, t.Position
		for _, p := range t.Postings {
			switch {
			case !p.Virtual || p.Quantity.Number.isZero():
				all[i].Postings = append(all[i].Postings, p)
			case m.SkipVirtual:
				m.note("unbalanced virtual postings are left out")
			default:
				m.wrong(t.position(p), "(%s) is an unbalanced virtual posting, which a ledger cannot hold: --virtual "+
					"skip imports the book without such postings", p.Account)
			}
		}
	}
	return all
}

// collect assigns ids to all names, and reports names that cannot have one.
func (m *mapping) collect(ctx context.Context, transactions []Transaction) error {
	for _, name := range m.declared {
		m.accounts.add(name, Position{})
	}
	for _, t := range transactions {
		for i := range t.Postings {
			p := &t.Postings[i]
			at := t.position(*p)
			if cost := valueOf(p.Metadata, TagCost); cost != "" {
				weight, err := parseCost(cost)
				if err != nil {
					m.wrong(at, "%s: %v", TagCost, err)
				}
				p.Weight = &weight
			}
			m.accounts.add(p.Account, at)
			if m.accounts.first[p.Account] == (Position{}) { // it was only declared before
				m.accounts.first[p.Account] = at
			}
			for _, a := range p.amounts() {
				m.assets.add(a.Commodity, at)
			}
		}
	}
	if err := m.assign(ctx, "account", m.accounts, m.accountsOf()); err != nil {
		return err
	}
	return m.assign(ctx, "commodity", m.assets, m.assetsOf())
}

func (m *mapping) assign(ctx context.Context, kind string, n *names, h *had) error {
	err := n.assign(ctx, h, func(name string, err error) { m.wrong(n.first[name], "%s %v", kind, err) })
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
// unlimited, so that it accepts the book's postings in any order.
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
			m.line(m.accounts.first[name], client.KindAccount, client.Line[client.Account]{Request: client.Account{
				ID: accountID, Name: nameOf(name, accountID), Overdraft: client.Overdraft{Unlimited: true}}})
			continue
		case err != nil:
			return err
		case !r.Value.Overdraft.Unlimited:
			m.wrong(m.accounts.first[name], "account %q already exists in the ledger, with a limit that could refuse "+
				"postings: give the account of the book another one by --ids", accountID)
		case r.Value.State != client.StateOpen:
			m.wrong(m.accounts.first[name], "account %q already exists in the ledger, and is %s: open it again, or "+
				"give the account of the book another one by --ids", accountID, r.Value.State)
		}
		m.hasAccounts = true
	}
	return nil
}
