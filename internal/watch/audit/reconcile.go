package audit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"sync"
	"time"

	"ledger.example/internal/table"
)

const (
	// bucketsCount is the number of differences that settled transactions share. With 1,000,000,000 transactions, a
	// bucket that is not zero has some thousands to examine.
	bucketsCount = 1 << 18
	// maxPartials bounds the transactions with a difference of their own. Any further one is examined at once.
	maxPartials = 20_000
	// commandTimeout is more than the longest time between the instant in the KSUIDs of a commit and the commit.
	commandTimeout = 10 * time.Second
	// assetsMax is the number of assets with separate sums. All others share one sum.
	assetsMax = 50_000
)

// reconciler compares the legs in headers and in ends of holds with the postings, holds with their entries in lists,
// reversing transactions with the reversals that name them, and all transactions with their entries in lists and in the
// journal.
//
// It adds the hash of every item that must be stored, and subtracts the hash of every item that is stored. The hashes
// are keyed with a random secret. The difference of a transaction is zero if the two sets are the same. Settled
// transactions share the differences of buckets. A scan may see only some items of a recent transaction, so each has a
// difference of its own. In a rescan each transaction of some buckets has one. It is safe for concurrent use.
type reconciler struct {
	audit      *Audit
	key        [16]byte
	recentFrom time.Time // transactions of this instant or later have differences of their own
	sumBefore  time.Time // assetSums count the postings before this instant: no more can be committed, except backdated

	mu                 sync.Mutex
	buckets            map[int]*bucket // by index; missing ones are zero
	rescanned          map[int]bool    // indexes of the buckets that this rescan examines; nil in the first scan
	partials           partials
	assetSums          sumsByAsset             // of postings; "" has those of the assets beyond assetsMax
	unreadable         map[string]bool         // assets with an unreadable posting: sums not known; "" as above
	reported           map[Finding]bool        // without Stored and Recomputed
	journalSeen        window                  // journal entries of this scan
	missingFromJournal map[digest]journalEntry // entries that the journal seems to lack
}

// digest is a hash, or a sum of hashes.
type digest [2]uint64

func (d *digest) add(e digest) { d[0], d[1] = d[0]+e[0], d[1]+e[1] }

func (d digest) negated() digest { return digest{-d[0], -d[1]} }

// part is a part of the comparison. A bucket has a difference for each part.
type part int

const (
	eventsPart  part = iota // postings, entries of holds, and reversals
	listsPart               // entries in lists of transactions
	journalPart             // entries in the journal
	partsCount
)

// bucket has the differences of the transactions that share it.
type bucket struct {
	differences     [partsCount]digest
	journalExpected digest // the sum of the entries that the journal must have
	items           int    // number of additions and subtractions
}

// isClean reports whether the differences of parts are zero.
func (b bucket) isClean(parts ...part) bool {
	for _, p := range parts {
		if b.differences[p] != (digest{}) {
			return false
		}
	}
	return true
}

// partials are the transactions with differences of their own, by id.
type partials map[string]*partial

// partial is a transaction whose difference is not zero.
type partial struct {
	difference digest
	referrers  []table.Key // stored items that name the transaction: postings, entries, pages of the journal
}

// add adds to the difference of a transaction, and forgets the transaction when its difference is zero.
func (p partials) add(transaction string, d digest, referrers []table.Key) {
	one := p[transaction]
	if one == nil {
		one = new(partial)
		p[transaction] = one
	}
	one.difference.add(d)
	one.referrers = append(one.referrers, referrers...)
	if one.difference == (digest{}) {
		delete(p, transaction)
	}
}

func newReconciler(a *Audit) *reconciler {
	c := &reconciler{
		audit: a, recentFrom: a.started.Add(-a.Settle), sumBefore: a.started.Add(-commandTimeout),
		buckets: make(map[int]*bucket), partials: make(partials), assetSums: make(sumsByAsset),
		unreadable: make(map[string]bool), reported: make(map[Finding]bool),
		missingFromJournal: make(map[digest]journalEntry),
	}
	rand.Read(c.key[:]) // never fails
	return c
}

// bucketOf returns the index of a transaction's bucket.
func (c *reconciler) bucketOf(transaction string) int {
	hash := sha256.Sum256(append(c.key[:], transaction...))
	return int(binary.BigEndian.Uint32(hash[:]) % bucketsCount)
}

// bucket returns the bucket with an index.
func (c *reconciler) bucket(i int) *bucket {
	b := c.buckets[i]
	if b == nil {
		b = new(bucket)
		c.buckets[i] = b
	}
	return b
}

// addToAsset adds a posting to the sums of its asset.
func (c *reconciler) addToAsset(p posting) {
	if at := p.at(); !at.Before(c.sumBefore) && at.Before(c.audit.latest()) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := p.Asset
	if c.assetSums[id] == nil && len(c.assetSums) >= assetsMax {
		id = ""
	}
	c.assetSums.add(id, p)
}

// noteUnreadable notes an unreadable posting of an asset.
func (c *reconciler) noteUnreadable(asset string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.assetSums[asset] == nil && len(c.unreadable) >= assetsMax {
		asset = ""
	}
	c.unreadable[asset] = true
}

// add adds to the difference of a transaction. at is the time of the item, zero if that is not known. An expected item
// and its stored item must pass the same time, so that both change the same difference.
func (c *reconciler) add(ctx context.Context, part part, transaction string, at time.Time, d digest,
	referrers ...table.Key,
) {
	i := c.bucketOf(transaction)
	isFull := false
	c.mu.Lock()
	switch isFirst := c.rescanned == nil; {
	case isFirst && !at.IsZero() && at.Before(c.recentFrom):
		b := c.bucket(i)
		b.differences[part].add(d)
		b.items++
		if part == journalPart && len(referrers) == 0 {
			b.journalExpected.add(d)
		}
	case isFirst && c.partials[transaction] == nil && len(c.partials) >= maxPartials:
		isFull = true
	case isFirst || c.rescanned[i]:
		c.partials.add(transaction, d, referrers)
	}
	c.mu.Unlock()
	if isFull {
		c.examine(ctx, transaction, referrers)
	}
}

// isWanted reports whether a rescan must add an item: it is in the difference of a bucket that the rescan examines.
func (c *reconciler) isWanted(value any, key table.Key) bool {
	e, ok := entryIn(value, key, lifecycle{})
	id := e.transaction
	if journaled, isEvent := entryOf(value, key); isEvent {
		id, ok = journaled.subject(), true
	}
	switch v := value.(type) {
	case journalPage:
		return true // addJournal selects its entries
	case reversed:
		id, ok = v.By, true
	}
	return ok && c.rescanned[c.bucketOf(id)]
}

// hash returns the keyed hash of some strings.
func (c *reconciler) hash(parts ...string) digest {
	var buffer [512]byte
	b := append(buffer[:0], c.key[:]...)
	for _, s := range parts {
		b = append(strconv.AppendInt(b, int64(len(s)), 10), ':')
		b = append(b, s...)
	}
	hash := sha256.Sum256(b)
	return digest{binary.BigEndian.Uint64(hash[:]), binary.BigEndian.Uint64(hash[8:])}
}

// stepHash is the hash of a step in an entry.
func (c *reconciler) stepHash(e entry, s step) digest { return c.hash(e.key.PK, e.key.SK, s.text) }

func (c *reconciler) reversalHash(transaction, by string) digest {
	return c.hash("reversed", transaction, by)
}

// addRequired adds the entries that an event requires: a header, or with ofEnd the end of a hold.
func (c *reconciler) addRequired(ctx context.Context, l lifecycle, ofEnd bool, legs []leg) {
	var required [partsCount]digest
	for _, e := range c.audit.entriesOf(ctx, l, c.audit.Indexed) {
		for _, s := range e.steps {
			if s.ofEnd == ofEnd {
				required[e.part].add(c.stepHash(e, s))
			}
		}
	}
	if !ofEnd && l.Kind == reversal {
		required[eventsPart].add(c.reversalHash(l.Reverses, l.ID))
	}
	for i, d := range required {
		if d != (digest{}) {
			c.add(ctx, part(i), l.ID, timeOf(legs), d)
		}
	}
}

// addItem adds the entries that a header or an end requires. It subtracts entries, reversals and pages. It ignores all
// other items. l is the result of lifecycleOf.
func (c *reconciler) addItem(ctx context.Context, value any, l lifecycle, key table.Key) {
	if l.unreadable {
		return // the scan reports it
	}
	if e, ok := entryOf(value, key); ok {
		c.addJournal(ctx, []journalEntry{e})
	}
	switch v := value.(type) {
	case header:
		c.addRequired(ctx, lifecycle{header: v, exists: true}, false, v.Legs)
	case outcome:
		c.addRequired(ctx, l, true, v.Legs)
	case reversed:
		c.add(ctx, eventsPart, v.By, timeOf(l.Legs), c.reversalHash(v.Transaction, v.By).negated(), key)
	case journalPage:
		c.addJournal(ctx, v.Entries, key)
	}
	if v, ok := value.(listEntry); ok && !c.audit.isIndexed(v) {
		return // transactions need not have such entries
	}
	if e, ok := entryIn(value, key, l); ok {
		for _, s := range e.steps {
			at, _ := instantOf(s.ksuid)
			c.add(ctx, e.part, e.transaction, at, c.stepHash(e, s).negated(), key)
		}
	}
}
