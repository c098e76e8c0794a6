package table

import "strings"

// A Range is a range of sort keys for a key condition's BETWEEN, both ends included. The ends need not be keys of
// items. DynamoDB rejects a query whose range is Empty.
//
// All, History and Partitions are the ranges of all keys of a kind of item. After, Since, Before, Through and Beginning
// narrow them by the part that follows, or by a text that continues with '#' and the next part: each end at most once,
// and Beginning last. An empty part does not narrow. So Posting.All(asset).Since(from).Before(to) has an asset's
// postings in [from, to).
type Range struct{ From, To string }

// Empty reports whether no key can lie in r.
func (r Range) Empty() bool { return r.From > r.To }

// Contains reports whether key lies in r.
func (r Range) Contains(key string) bool { return r.From <= key && key <= r.To }

const (
	pastPart = "$" // the byte after '#': sorts after every continuation of a part with '#'
	end      = "~" // sorts after every byte of an id
	next     = "!" // sorts before '#' and every byte of an id: key + next is the lower bound of all keys after key
)

// all returns the keys whose first parts are these.
func (t text) all(parts []string) Range {
	prefix := t.fixed
	for _, part := range parts {
		prefix += part + "#"
	}
	return Range{prefix, prefix + end}
}

// All returns the SKs of items whose first parts after the PK's are these.
func (p *Pattern) All(parts ...string) Range { return p.sk.all(parts) }

// History returns the SK2s, in IndexHistory, of items whose first parts are these.
func (p *Pattern) History(parts ...string) Range { return p.sk2.all(parts) }

// Partitions returns the PKs of items, which are sort keys of IndexInverse.
func (p *Pattern) Partitions() Range { return p.pk.all(nil) }

// NextAfter returns the SKs of items whose first part is greater than id; an empty id means all. The first key in the
// range has the next id. So a reader can list the assets of an account by skipping from one to the next. Keys without
// an id are skipped: they have no next id, so a reader would find them again without end.
func (p *Pattern) NextAfter(id string) Range {
	return Range{p.Prefix() + id + pastPart, p.Prefix() + end}
}

// After narrows r to keys greater than last.
func (r Range) After(last string) Range {
	if last != "" {
		r.From += last + next
	}
	return r
}

// Since narrows r to keys from a first one on.
func (r Range) Since(first string) Range {
	r.From += first
	return r
}

// Before narrows r to keys below to.
func (r Range) Before(to string) Range {
	if last := len(to) - 1; last >= 0 {
		// The greatest key below to: decrement its last byte, and append the end of a range.
		r.To = strings.TrimSuffix(r.To, end) + to[:last] + string(rune(to[last]-1)) + end
	}
	return r
}

// Through narrows r to keys to the last one, with all that continue it.
func (r Range) Through(last string) Range {
	if last != "" {
		r.To = strings.TrimSuffix(r.To, end) + last + "#" + end
	}
	return r
}

// Beginning narrows r to keys whose next part begins with prefix.
func (r Range) Beginning(prefix string) Range {
	prefix = strings.TrimSuffix(r.To, end) + prefix
	return Range{max(r.From, prefix), prefix + end}
}

// PageRange returns the SKs of an account's opening, its newest change, its summary and all its balances.
func PageRange() Range { return Range{"ACCOUNT", "BALANCE" + end} }

// LifecycleRange returns the SKs, in a transaction's partition, of its header, its outcome and its reversals.
func LifecycleRange() Range { return Range{Outcome.Prefix(), Transaction.All().To} }
