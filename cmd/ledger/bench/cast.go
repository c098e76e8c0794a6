package bench

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The assets of a run: money, and something that is traded for it.
const (
	cash = iota
	share
	assets
)

// makers is how many market makers there are.
const makers = 4

// cast is whom and what a run is about. Accounts are counted from 0: first those that have a limit and a deposit, which are as
// many as were asked for, then those that play a part. All names carry the run's own, so that a run meets no other's books,
// nor anybody else's.
type cast struct {
	run    string
	people int      // accounts with a limit and a deposit
	names  []string // of accounts
	assets [assets]string
}

func newCast(run string, people int) *cast {
	c := &cast{run: run, people: people, assets: [assets]string{cash: run + "-cash", share: run + "-share"}}
	for i := range people {
		c.names = append(c.names, fmt.Sprintf("%s-a%d", run, i))
	}
	c.names = append(c.names, run+"-receiver", run+"-spender", run+"-issuer")
	for i := range makers {
		c.names = append(c.names, fmt.Sprintf("%s-maker%d", run, i))
	}
	return c
}

// The accounts that play a part.
func (c *cast) receiver() int   { return c.people }     // has a limit, and never pays
func (c *cast) spender() int    { return c.people + 1 } // has a limit, and only what the load gives it
func (c *cast) issuer() int     { return c.people + 2 } // owes without limit: all that there is comes from it
func (c *cast) maker(i int) int { return c.people + 3 + i }

// limited tells whether an account may not owe anything.
func (c *cast) limited(account int) bool { return account < c.issuer() }

// id returns the id of a transaction: who made it says the kind of load, its round and such.
func (c *cast) id(maker string, n int) string { return c.run + "-" + maker + "-" + strconv.Itoa(n) }

// number returns the number in such an id, -1 when there is none.
func number(id string) int {
	n, err := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
	if err != nil {
		return -1
	}
	return n
}

// runName is short, another for every run, and sorts by when the run began.
func runName(began time.Time, chance uint64) string {
	return "b" + strconv.FormatInt(began.UnixMilli(), 36) + fmt.Sprintf("%02s", strconv.FormatUint(chance%(36*36), 36))
}
