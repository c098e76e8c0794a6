// Package table is the way to the ledger's one DynamoDB table. It has the layout of the table, the port through which
// everything is read and written, and the port's implementation by the AWS SDK.
//
//   - The layout: ItemTypes declares the kinds of items with the patterns of their keys; attributes, indexes, limits
//     and costs stand beside it. No other code has these names, except template.yaml, and a test compares the two.
//   - Items: EventItem and DecodeEvent turn events into items and back; Begin and Open do so for guards and
//     projections.
//   - The port: Table, with the meaning of every error. Overlay records the writes of a dry run in place of making
//     them; tests have more decorators.
//   - The implementation: NewClient and NewTable. A write is sent once; its error says whether it can have been
//     applied.
//
// An item has a partition key (PK) and a sort key (SK). An account's partition has all items of the account: its
// events (opening, postings, grants), its guards and its projections. Keys are built from ids, whose alphabet is A-Z
// a-z 0-9 . _ : @ -. All of these sort between '#' and '~'. A '#' therefore ends a part of a key, keys sort as their
// ids do, and '~' ends a range.
//
// Everything in it is safe for concurrent use, except ItemEncoder and Reader.
package table
