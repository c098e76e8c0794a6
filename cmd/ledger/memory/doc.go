// Package memory is DynamoDB in memory, below the AWS SDK: a Store hands out the SDK's own clients, and answers what they are
// asked without a network. So everything that is written for DynamoDB runs on it unchanged.
//
// It is strict rather than complete. What it knows (package ledger's and package projections' requests, and what is near
// them) it does as AWS does, errors included; whatever else AWS takes is a ValidationException that names it.
//
// It also does on purpose what AWS may do at any time: transactions that become visible item by item, eventually consistent
// reads and indexes that are behind, pages cut anywhere, a stream in shards that split. Options say how much of it. With the
// same calls and hooks that decide alike, all answers are the same.
//
// And it keeps the ledger's own promise: a write that would change, overwrite or delete an event is a Violation, whatever
// its condition said.
package memory
