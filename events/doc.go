// Package events holds the ledger's immutable facts: what was registered, opened, posted, granted and revoked.
//
// A fact is written once and never changed. Balances, summaries, memberships and segments are computed from these
// facts and can be computed again. The package imports no other package of this module, and no SDK.
//
// An Event is a plain value, with one type for each kind. Write passes its stored fields to an encoder, and Decode
// reads an event strictly. Checksum detects an alteration, by the rule in checksum.go. limits.go has the limits of
// what may be stored. An Amount is an exact whole number. A KSUID identifies a posting and is its position in a
// history. A Minter creates KSUIDs, never out of order within one process.
//
// All values are safe for concurrent use as long as nobody writes to their maps and slices.
package events
