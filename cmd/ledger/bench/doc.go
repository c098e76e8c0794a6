// Package bench puts a ledger under load and says what that cost: in time, in requests and units of the store, in dollars. It
// is a client of the HTTP API like any other, so what it measures includes everything that a caller waits for; and it keeps
// books of its own, against which the ledger's are held at the end: a run with a wrong balance has failed, however fast it was.
//
// A run is made of rounds. Each round gives every workload its slices: ours, then those of the ceilings, which do the same
// with a part of the work left out, so that what is compared are neighbours in time.
package bench
