// Package events has the ledger's events: assets, accounts, postings, transactions, ends of holds, reversals, grants
// and groups.
//
// An event is written once and never changed. Balances, summaries, memberships and segments are computed from events
// and can be computed again. The package imports no other package of this module, and no SDK.
//
// An Event is a plain value, with one type for each kind. The tags of its fields say how it is stored: plan.go explains
// them, and rules.go has the rules that they name. An Encoder encodes events, and Decode decodes them strictly.
// AppendCanonical writes the canonical form of an event, and Checksum detects alterations by it. limits.go has the
// limits of fields. An Amount is an exact whole number. A KSUID identifies a posting and is its position in a history.
// A Minter creates KSUIDs in increasing order within one process.
//
// All values are safe for concurrent use as long as nobody writes to their maps and slices.
package events
