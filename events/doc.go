// Package events holds the ledger's immutable facts: what was registered, opened, posted, granted and revoked.
//
// A fact is written once and never changed. Everything else in the table (balances, summaries, memberships,
// segments) is a fold of these facts and can be thrown away. The package imports nothing of ours and no SDK.
//
// An Event is a plain value, one type for each kind. Encode gives its stored form, Decode reads one strictly, by name
// and version; the limits of what may be stored are in limits.go. An Amount is an exact whole number, a KSUID the
// identity of a posting and its place in a history, and a Minter makes them, never out of order in one process.
//
// All values are safe for concurrent use as long as nobody writes to their maps and slices.
package events
