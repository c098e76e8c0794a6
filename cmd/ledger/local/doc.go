// Package local obtains and runs DynamoDB Local, and makes the ledger's table
// in it, for a developer's machine and for the tests.
//
// DynamoDB Local is a proprietary download of AWS: it is fetched when it is
// first needed, kept in the user's cache directory, and never shipped with the
// ledger. It needs Java 17 or newer. The table is made from template.yaml, the
// one definition that the deployed stack is made from too.
//
// Linux and macOS are supported.
package local
