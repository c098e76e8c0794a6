// Package pump plays Lambda's event source mapping for a DynamoDB stream: it
// feeds a table's changes to the very handler that Lambda runs. Neither
// DynamoDB Local nor `sam local` does that.
//
// A stream has shards, and a shard has records in order. A shard may have a
// parent, whose records come before its own. The pump reads each shard ahead of
// the handler, drops what the filters hold back, and hands over the rest in
// batches. What the handler says about a batch decides what comes next, with
// Lambda's rules:
//
//   - An error, a panic, a time-out, or a failure reported under an identifier
//     that is not in the batch: all of the batch failed. It is halved, and each
//     half delivered by itself, if bisecting is switched on and it has more
//     than one record; that uses up no retry. Else it is tried again.
//   - Failures reported by sequence number: everything before the lowest is
//     done, everything from there on comes again, successes too. If the lowest
//     is the first of the batch, that is a retry of all of it; else it is one
//     only where bisecting is switched off.
//   - A batch out of retries, and a record grown too old, is set aside: kept
//     whole in a file. Its shard goes on.
//
// The pump keeps its position while it runs and forgets it when it ends: it
// begins at the trim horizon each time. Nothing is lost that the stream still
// has, and much comes again; the handler must not mind, as it must not in
// Lambda. For the same reason a record's age counts from the beginning of the
// run at the earliest: else a run after a long pause would set aside what has
// been delivered long ago, and what has never been delivered with it. An outage
// of the stream ends like a pause.
//
// It differs from Lambda where that helps on a developer's machine: it looks
// for new records more often than four times a second, its pauses between
// retries are shorter, and it sets nothing aside while the stream itself cannot
// be reached, as then the handler can reach nothing either.
package pump
