// Package rebuild goes through the accounts of a table and has each rebuilt, at a bounded rate, so that it can be stopped
// anywhere and gone on with.
package rebuild
