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
	// bucketsCount is the number of sums of hashes that the transactions share: with 1,000,000,000 of them, a bucket
	// that is not zero has some thousands to examine.
	bucketsCount = 1 << 18
	// partialMax bounds the transactions that are kept by themselves; those beyond are examined at once.
	partialMax = 20_000
	// commandTimeout is longer than a commit may come after the instant in its KSUIDs.
	commandTimeout = 10 * time.Second
	// assetsMax is the number of assets with a sum of their own; all others share one.
	assetsMax = 50_000
)

// legCheck compares the legs in headers and in ends of holds with the postings, holds with their entries in lists,
// reversing transactions with the reversals that name them, and all transactions with their entries in lists and in the
// journal. It adds a hash of every item that must be there, keyed with
// a secret of this audit, and subtracts one of every item that is: the rest of a transaction is zero if both are the
// same.
// Settled transactions share the rests of buckets. Recent ones, of which a scan may see a part, are kept by themselves.
// A rescan keeps all transactions of some buckets by themselves. It is safe for concurrent use.
type legCheck struct {
	audit      *Audit
	key        [16]byte
	recentFrom time.Time // transactions from this instant on are kept by themselves
	sumBefore  time.Time // the sums of assets are of postings before this instant: all are committed but backdated ones

	mu         sync.Mutex
	buckets    map[int]*bucket // by index; the nil ones are zero
	rescanned  map[int]bool    // buckets; nil in the first scan
	partials   partials
	assets     sumsByAsset      // of the postings by asset; "" is that of the assets beyond assetsMax
	unreadable map[string]bool  // assets with an unreadable posting: nothing is known of their sums
	reported   map[Finding]bool // with neither value
	backdated  bool             // a transaction before sumBefore was recorded after it
	listed     window           // entries of the journal in this scan
	unlisted   map[digest]unlisted
}

// digest is a sum of hashes.
type digest [2]uint64

func (d *digest) add(e digest) { d[0], d[1] = d[0]+e[0], d[1]+e[1] }

func (d digest) negated() digest { return digest{-d[0], -d[1]} }

// part names what the sums of a transaction are about. Each has a rest of its own in a bucket.
type part int

const (
	ofEvents  part = iota // postings, entries of holds, and reversals
	ofLists               // entries in lists of transactions
	ofJournal             // entries in the journal
	partsCount
)

// bucket is the rests of the transactions that share it, and the number of what was added to them.
type bucket struct {
	rests  [partsCount]digest
	wanted digest // what the journal must have, without what it has
	items  int
}

// isClean reports whether nothing is left of some parts.
func (b bucket) isClean(parts ...part) bool {
	for _, p := range parts {
		if b.rests[p] != (digest{}) {
			return false
		}
	}
	return true
}

// partials are the transactions whose rest is not zero, by id.
type partials map[string]*partial

type partial struct {
	rest   digest
	naming []table.Key // items that name the transaction, postings for the most part
}

// add adds to the rest of a transaction, and forgets the transaction when its rest is zero.
func (p partials) add(transaction string, d digest, naming []table.Key) {
	one := p[transaction]
	if one == nil {
		one = new(partial)
		p[transaction] = one
	}
	one.rest.add(d)
	one.naming = append(one.naming, naming...)
	if one.rest == (digest{}) {
		delete(p, transaction)
	}
}

func newLegCheck(a *Audit) *legCheck {
	c := &legCheck{
		audit: a, recentFrom: a.started.Add(-a.Settle), sumBefore: a.started.Add(-commandTimeout),
		buckets: make(map[int]*bucket), partials: make(partials), assets: make(sumsByAsset),
		unreadable: make(map[string]bool), reported: make(map[Finding]bool), unlisted: make(map[digest]unlisted),
	}
	rand.Read(c.key[:]) // never fails
	return c
}

// hashOf is the sum of the hashes of postings. Each covers everything in a posting, and whether it has a checksum.
func (c *legCheck) hashOf(postings ...posting) (all digest) {
	for _, p := range postings {
		all.add(c.fact(p.transaction, p.account, p.asset, p.ksuid, p.kind, p.description, p.phase, p.quantity.String(),
			p.cost.String(), p.pending.String(), strconv.FormatBool(p.sealed)))
	}
	return all
}

func digestOf(b []byte) digest {
	hash := sha256.Sum256(b)
	return digest{binary.BigEndian.Uint64(hash[:]), binary.BigEndian.Uint64(hash[8:])}
}

// bucketOf returns the index of the bucket that a transaction shares.
func (c *legCheck) bucketOf(transaction string) int {
	hash := sha256.Sum256(append(c.key[:], transaction...))
	return int(binary.BigEndian.Uint32(hash[:]) % bucketsCount)
}

// bucket returns the bucket of an index, to be changed.
func (c *legCheck) bucket(i int) *bucket {
	b := c.buckets[i]
	if b == nil {
		b = new(bucket)
		c.buckets[i] = b
	}
	return b
}

// sum adds a posting to its asset's sum.
func (c *legCheck) sum(p posting) {
	if !p.at.Before(c.sumBefore) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := p.asset
	if c.assets[id] == nil && len(c.assets) >= assetsMax {
		id = ""
	}
	c.assets.add(id, p.leg)
}

// noteUnreadable notes an unreadable posting of an asset.
func (c *legCheck) noteUnreadable(asset string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.assets[asset] == nil && len(c.unreadable) >= assetsMax {
		asset = ""
	}
	c.unreadable[asset] = true
}

// add adds to the rest of a part of a transaction. ksuid is one that all who add to it know; "" if none is known.
func (c *legCheck) add(ctx context.Context, of part, transaction, ksuid string, d digest, naming ...table.Key) {
	at, ok := instantOf(ksuid)
	c.addAt(ctx, of, transaction, at, ok, d, naming...)
}

// addAt is add with an instant; ok is false if none is known.
func (c *legCheck) addAt(ctx context.Context, of part, transaction string, at time.Time, ok bool, d digest,
	naming ...table.Key,
) {
	i := c.bucketOf(transaction)
	isFull := false
	c.mu.Lock()
	switch isFirst := c.rescanned == nil; {
	case isFirst && ok && at.Before(c.recentFrom):
		b := c.bucket(i)
		b.rests[of].add(d)
		b.items++
		if of == ofJournal && len(naming) == 0 {
			b.wanted.add(d)
		}
	case isFirst && c.partials[transaction] == nil && len(c.partials) >= partialMax:
		isFull = true
	case isFirst || c.rescanned[i]:
		c.partials.add(transaction, d, naming)
	}
	c.mu.Unlock()
	if isFull {
		c.examine(ctx, transaction, naming)
	}
}

// noteBackdated notes a transaction that may be in the sums in part.
func (c *legCheck) noteBackdated(h header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.backdated = c.backdated || h.effective != "" && !h.at.Before(c.sumBefore)
}
