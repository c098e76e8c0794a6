package events

import (
	"fmt"
	"slices"
	"time"
)

// GroupRegistered: a group of accounts was registered. A group has members. Its definition is immutable.
type GroupRegistered struct {
	ID          string    `stored:"id"`                   // see ValidID; set by the caller
	Name        string    `stored:"name,optional"`        // 0 to NameChars characters
	Description string    `stored:"description,optional"` // 0 to DescriptionChars characters
	Actor       string    `stored:"actor,unlisted"`       // who registered it, 1 to ActorChars characters
	At          time.Time `stored:"time"`                 // UTC, whole microseconds; set by the command
}

// AccountGrouped: an account was added to a group, or removed from one. It has all groups of the account after that. So
// the newest event is enough to know them, and concurrent changes cannot exceed AccountGroupsMax. Order is that of
// Number, not of At.
type AccountGrouped struct {
	Account string    `stored:"id"`              // id of the account
	Number  int64     `stored:"number"`          // of this account's changes of groups: 1, 2 … MemberNumberMax
	Groups  []string  `stored:"groups,optional"` // ids, sorted, at most AccountGroupsMax; nil for none
	Added   string    `stored:"id,optional"`     // id of the group, if the account was added to it
	Removed string    `stored:"id,optional"`     // id of the group, if the account was removed from it
	Actor   string    `stored:"actor"`           // who changed it, 1 to ActorChars characters
	At      time.Time `stored:"time"`            // UTC, whole microseconds; set by the command
}

// EventName implements Event.
func (GroupRegistered) EventName() string { return "GroupRegistered" }

func (GroupRegistered) check() (field, rule string) { return "", "" }

// EventName implements Event.
func (AccountGrouped) EventName() string { return "AccountGrouped" }

func (e AccountGrouped) check() (field, rule string) {
	for i := 1; i < len(e.Groups); i++ {
		if e.Groups[i] <= e.Groups[i-1] {
			return fmt.Sprintf("Groups[%d]", i), ruleIncrease
		}
	}
	if e.Added != "" && !e.Has(e.Added) || e.Removed != "" && e.Has(e.Removed) {
		return "Groups", "does not match the added or removed group"
	}
	return either("Added", e.Added, "Removed", e.Removed)
}

// Has reports whether the account is in a group after the change.
func (e AccountGrouped) Has(group string) bool { return slices.Contains(e.Groups, group) }

// Changed returns the group that the account was added to or removed from.
func (e AccountGrouped) Changed() string { return e.Added + e.Removed }

// either returns the rule that is broken unless exactly one of two texts is present.
func either(first, one, second, other string) (field, rule string) {
	switch {
	case one == "" && other == "":
		return first, ruleMissing
	case one != "" && other != "":
		return second, "must not be present together with its alternative"
	}
	return "", ""
}
