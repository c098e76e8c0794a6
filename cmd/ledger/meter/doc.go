// Package meter counts what a client of the ledger's table asks of it while it runs: requests, items, and the units of
// capacity that AWS would charge, by the cost model of ledger/table. DynamoDB Local's own figures are wrong for
// transactions and are never looked at.
//
// Units depend on whole items, and on what was there before. A write tells what it puts, a read what it finds; the meter
// remembers the sizes of what it saw, of a bounded number of items, and so knows what a later write replaces and how
// large an item is that is only read in part. Where it has not seen what it would have to know, it takes what it has, and
// says so in Tally.Guessed.
package meter
