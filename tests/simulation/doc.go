// Package simulation runs the real ledger, projections and adapters on a store in memory, through histories in which
// everything goes wrong that may: requests that fail, are applied although they fail or long after their caller died;
// processes that die anywhere; clocks that jump, differ by minutes or stand still; a stream that repeats itself, falls
// behind, splits and forgets. A naive model watches: what must hold then is checked after every change of the store,
// and at rest everything is exact.
//
// One history runs in a bubble of testing/synctest, where time is its own: each request to the store waits for a drawn
// time before it is applied and after, and whoever's time comes first goes on, alone. Everything that is drawn is drawn
// from the history's Plan, by the name of what it is for and not from one sequence: so a history replays to the bit,
// and shrinks, as taking one thing away leaves the others as they were.
package simulation
