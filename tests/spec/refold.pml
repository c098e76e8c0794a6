/* Refold: checks, of docs/design.md, "How balances are projected", "Base, seal and head", "Late postings", "Concurrency
   and crashes", "Reads", "Effective dates", and the rebuild of a balance in "Repair and audit".

   One balance and two postings, 1 and 2 by their KSUIDs. Each is committed at any time, so also late; one may be
   backdated. A sum is a set: bit k is posting k. Those up to `edge` are settled. Records arrive in any order, again and
   again. A projector refolds, and ends anywhere; with it a second one, a command that makes its posting visible, or a
   rebuild. Strong reads run at every instant. Segment and balance become visible one by one.

   Left out: a third posting (then Sure must wait for an unfinished balance, or G7 breaks; with two it need not), more
   than one beside the first projector, the steps of a rebuild's write, summary and views, the pages of a query, all of
   the cache but that it may leave the seal, lost items, and what strong reads show and miss before it is acknowledged.
   -D NO_RULE takes a rule away. docs/testing.md has a table of the rules, and of what goes wrong without each. */
bool G6, G7;                        /* false for ever: assert(G6 || ...) names the guarantee that breaks */
#define BIT(k) (1 << (k))
#define IN(after, through) (BIT(through + 1) - BIT(after + 1))
#define POP(set) (((set >> 1) & 1) + ((set >> 2) & 1))
#define HAS(set, k) ((set & BIT(k)) != 0)
#define BEFORE(t) ((t == 2 && HAS(segments, 1)) -> 1 : 0)    /* the end of the segment before that through t, and of */
#define AT(k) ((k == 1 && HAS(segments, 1)) -> 1 : (HAS(segments, 2) -> 2 : 0))         /* that with k; 0 for none */
#define LAZY 9                      /* instead of an edge: the seal stays, for all that is above it is cached */
byte stored, edge, flagged, acked;  /* committed postings, settled ones; the one backdated, and acknowledged; 0: none */
byte baseT, base, sealT, seal, head; bool unfinished;    /* the balance: its sums, and through which posting they are */
byte segments, segment[3], every;   /* the ends of segments, the sum of each, and how many settled postings close one */
byte fresh, shown; bool locked;     /* who read the newest version; what readers saw; a commit with a segment goes on */
#ifdef NO_VERSION
#define UNCHANGED !locked
#else
#define UNCHANGED (!locked && HAS(fresh, i))
#endif
inline load() { bT = baseT; b = base; sT = sealT; s = seal; h = head; u = unfinished; fresh = fresh | BIT(i) }
inline put() { assert(G6 || !(head & ~h)); baseT = bT; base = b; sealT = sT; seal = s; head = h; unfinished = u;
  fresh = BIT(i) }
inline save(retry) { atomic { if :: UNCHANGED -> put() :: else -> goto retry fi } }
inline saveWith(t, sum, retry) {    /* the balance, and the segment through t: one becomes visible first */
  atomic { if :: UNCHANGED -> locked = true :: else -> goto retry fi;
    if :: segment[t] = sum; segments = segments | BIT(t) :: put(); first = true fi };
  atomic { if :: first -> segment[t] = sum; segments = segments | BIT(t) :: else -> put() fi;
    locked = false; first = false } }
/* The stretch of k is after A through T; its stored sum is cnt. */
inline stretch(k, retry) {
  if :: k > bT -> atomic { A = bT; T = sT; cnt = s - b } :: else ->
     atomic { T = AT(k); if :: T -> A = BEFORE(T); cnt = segment[T] :: else -> goto retry fi };
#ifndef NO_SNAPSHOT
     atomic { if :: !locked && HAS(fresh, i) -> cnt = segment[T] :: else -> goto retry fi }
#endif
  fi }

proctype Refold(byte i) { byte k, e, bT, b, sT, s, h, f, A, T, cnt, sum; bool u, w, first;
idle: atomic { k = 0; e = 0; bT = 0; b = 0; sT = 0; s = 0; h = 0; f = 0; A = 0; T = 0; cnt = 0; sum = 0; u = 0; w = 0;
    fresh = fresh & ~BIT(i) };
end:  atomic { stored; if :: HAS(stored, 1) -> k = 1 :: HAS(stored, 2) -> k = 2 fi };
begin:
  atomic { load(); w = false; A = 0; T = 0; cnt = 0; sum = 0; f = 0; e = edge;
#ifdef NO_WINDOW
    e = 2;
#endif
#ifdef NO_CLOCK
    if :: e = 2 :: true fi;                               /* its own clock is ahead */
#endif
#ifdef NO_CHECK
    if :: k <= sT && !u -> goto done :: else -> goto forward fi;
#endif
    if :: k > sT -> goto forward :: else fi };
  stretch(k, begin);
  atomic { sum = stored & IN(A, T); A = 0;
    if :: POP(sum) == POP(cnt) -> if :: u -> goto forward :: else -> goto done fi :: else fi;
    f = sum - cnt; cnt = 0; w = true;                     /* what was late */
    if :: T <= bT -> b = b + f :: else fi;
#ifndef NO_CORRECTED
    s = s + f; if :: u :: else -> h = h + f fi;
#endif
    assert(G6 || f < 8 && s < 8 && (s & b) == b);
#ifdef NO_SEGMENT
    goto forward;
#endif
    if :: T <= bT :: else -> goto forward fi };
  saveWith(T, sum, begin);
forward:
  atomic { f = s; T = sT; cnt = 0; sum = stored & IN(sT, 2);
#ifdef NO_STRONG
    if :: sum = sum & 2 :: true fi;
#endif
    if
#ifndef NO_PASS
    :: HAS(sum & ~1, flagged)
#endif
    :: else -> if :: e = LAZY :: true fi fi;
#ifdef NO_BEGIN
  };
  atomic { e = edge;
#endif
next: do :: T == 2 -> break :: T < 2 -> T++;
       if :: !HAS(sum, T) :: HAS(sum, T) && e != LAZY && T <= e -> f = f + BIT(T); s = f; sT = T;
            if :: POP(s) - POP(b) >= every -> cnt = s - b; b = s; bT = sT; goto close :: else fi
#ifndef NO_SETTLED
          :: HAS(sum, T) && e != LAZY && T > e && T == flagged -> goto begin
#endif
          :: else -> f = f + BIT(T) fi od;
    if :: f == h && !w && !u -> goto done :: else -> h = f; u = false; e = 0; f = 0; T = 0; sum = 0 fi };
  save(begin);
done: atomic { assert(G6 || HAS(head, k) && (k > sealT || HAS(seal, k)) &&
      (k > baseT || HAS(base, k) && (locked || HAS(segment[AT(k)], k)))); goto idle };
close:
#ifndef NO_UNFINISHED
  u = true;
#endif
  saveWith(bT, cnt, begin);
  atomic { cnt = 0; w = false; if :: goto idle :: goto next fi } }  /* it may end here, before its next write */
proctype World() { byte k, f;
end: do
  :: atomic { stored != 6 -> if :: !HAS(stored, 1) -> k = 1 :: !HAS(stored, 2) -> k = 2 fi;
       stored = stored | BIT(k); if :: k <= edge && !flagged -> flagged = k :: true fi; k = 0 } :: edge < 2 -> edge++
  :: atomic { !acked; if :: k = 1 :: k = 2 fi;            /* a young posting is acknowledged at once */
#ifndef NO_SURE
       if :: k <= edge -> k = 0 :: else fi;
#endif
       if :: HAS(stored, k) && k != flagged -> acked = k :: else fi; k = 0 }
  :: atomic { f = stored & IN(sealT, 2);                  /* a strong read, and what it must show */
#ifndef NO_SKIP
       f = f & ~BIT(flagged);
#endif
       f = f | seal; assert(G7 || ((head | BIT(acked) & ~1 | shown) & ~f) == 0); shown = f & BIT(flagged) & ~1; f = 0 }
  od }
proctype Sure(byte i) { byte k, bT, b, sT, s, h, A, T, cnt; bool u; /* EnsureVisible, of an old posting */
retry: atomic { k = 0; bT = 0; b = 0; sT = 0; s = 0; h = 0; u = 0; A = 0; T = 0; cnt = 0; fresh = fresh & ~BIT(i) };
end: atomic { !acked; if :: edge >= 1 && HAS(stored, 1) && flagged != 1 -> k = 1
    :: edge >= 2 && HAS(stored, 2) && flagged != 2 -> k = 2 fi; load(); if :: k <= sT -> goto counted :: else fi };
#ifdef NO_RAISE
  goto visible;
#endif
  atomic { if :: !locked && HAS(fresh, i) -> fresh = 0; goto visible :: else fi };
  atomic { if :: HAS(fresh, i) -> goto retry :: else -> load() fi;
    if :: k > sT && u -> goto retry :: k > sT && !u -> goto visible :: else fi };    /* unfinished: it still goes on */
counted: stretch(k, retry);
  if :: POP(stored & IN(A, T)) != POP(cnt) -> goto retry :: else fi;
visible: atomic { if :: !acked -> acked = k :: else fi; goto retry } }
proctype Rebuild(byte i) { byte bT, b, sT, s, h, all; bool u;
begin: atomic { load(); if :: edge > sT -> sT = edge :: else fi };    /* what was settled for others stays settled */
  atomic { all = stored; if :: flagged > sT && HAS(all, flagged) -> goto begin :: else fi; u = false };
#ifdef NO_STEP
  atomic { if :: UNCHANGED :: else -> goto begin fi;
    if :: bT == 2 && HAS(segments, 1) -> baseT = 1; base = all & 2; sealT = 1; seal = base; segment[1] = base;
          unfinished = true; fresh = BIT(i) :: else fi };
#endif
  atomic { if :: UNCHANGED :: else -> goto begin fi; b = all & IN(0, bT); s = all & IN(0, sT); h = all;
    if :: HAS(segments, 1) -> segment[1] = all & 2 :: else fi;
    if :: HAS(segments, 2) -> segment[2] = all & IN(BEFORE(2), 2) :: else fi;
    put(); bT = 0; b = 0; sT = 0; s = 0; h = 0; all = 0; fresh = 0 } }
init { atomic { if :: every = 1 :: every = 2 fi; run Refold(0); run World();
  if :: run Refold(1) :: run Sure(2) :: run Rebuild(3) fi } }
