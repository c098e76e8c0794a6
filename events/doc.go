// Package events holds the ledger's immutable facts: what was registered, opened, posted, granted and revoked.
//
// A fact is written once and never changed. Everything else in the table (balances, summaries, memberships,
// segments) is a fold of these facts and can be thrown away. The package imports nothing of ours and no SDK.
package events
