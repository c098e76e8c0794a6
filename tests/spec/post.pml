/* Post and guard: checks, of docs/design.md, "How a transaction is posted", "How overdrafts are prevented", "How a
   request is made idempotent", "When the outcome is unknown" and "Accounts that change" (limited accounts).

   Two commands post debits of one limited account and asset: two transactions, or one that was sent twice, by processes
   whose caches are old. Each makes any number of attempts. Any of them may be applied, applied without an answer, or
   applied at any later time. Meanwhile the account is credited, and its limit is lowered or raised, or it is frozen.

   Left out: accounts without a limit, joint writes, closing, the age of caches, items that become visible one by one,
   late attempts of more than one command, caches that know some of the funds. G8 is judged for command 1. G4 is more
   than docs/api.md promises (Was it posted?): what is in flight when command 1 begins never passes after its refusal.
   What command 0 sends later may, unless its caller hung up before: a refusal is final for its own request, and for
   those that ended before.
   -D NO_RULE takes a rule away. docs/testing.md has a table of the rules, and of what goes wrong without each. */
#define FROZEN 9
#define DEBIT(id) (3 - id)       /* of transaction 0 and 1 */
#define OWN(id)   (1 - id)       /* a credit of the same transaction and account, which its debit may spend */
bool G1, G4, G5, G8;             /* false for ever: assert(G5 || ...) names the guarantee that breaks */
mtype = { OK, EXISTS, REFUSED, UNKNOWN };

byte funds = 1, told = 1;        /* credits that are stored; those that were acknowledged */
bool guard; byte spent, gver;    /* the guard, and the newest change of the account that it has, 0 for none */
byte limit[3], newest = 1, acked = 1; /* the overdraft after a change; the one stored, acknowledged last */
bool header[2], posted[2];       /* of each transaction: is its header stored, are its postings */
byte debited;                    /* by all postings */
bool late; byte lateKnown, lateVer; /* an attempt of command 0 that is still in flight */
bool before, gone;               /* when command 1 began, it was in flight; the caller of command 0 had hung up */
bool denied;                     /* a caller was told since that its transaction is not stored and will not be */
byte told0, new0;                /* told and newest when command 1 began */

#ifdef NO_CONDITION
#define passes(id, known, v) true
#else
#define passes(id, known, v) (limit[v] != FROZEN && spent + DEBIT(id) <= known + OWN(id) + limit[v])
#endif
#ifdef NO_VERSION
#define same(v) (gver > 0)
#else
#define same(v) (gver == v)
#endif
#define inForce(n) (n >= acked && n <= newest && limit[n] != FROZEN && debited <= funds + limit[n])
#define refuses(n, id) (n >= new0 && n <= newest && (limit[n] == FROZEN || gs + DEBIT(id) > told0 + OWN(id) + limit[n]))

/* One attempt, decided by the store at one instant. r is its answer; gs and gv are the guard that refuses. */
inline attempt(isOld, id, known, v) {
  if
#ifndef NO_ABSENT
  :: header[id] -> r = EXISTS
#endif
  :: else ->
     if
     :: guard && same(v) && passes(id, known, v) ->
        assert(G4 || !header[id]); assert(G4 || !isOld || !denied); header[id] = true; r = OK;
        if
        :: posted[id] = true; debited = debited + DEBIT(id); funds = funds + OWN(id);
#ifdef NO_GROSS
           spent = spent + DEBIT(id) - OWN(id);
#else
           spent = spent + DEBIT(id);
#endif
           assert(G5 || inForce(1) || inForce(2))
#ifdef NO_TOGETHER
        :: skip                  /* the header was written by itself, and its process ended */
#endif
        fi
     :: else -> r = REFUSED; gs = spent; gv = gver
     fi
  fi }

inline setVersion(v) {           /* of the guard */
#ifdef NO_OLDER
  gver = v
#else
  if :: gver < v -> gver = v :: else fi
#endif
}

proctype Command(byte c, id) {
  byte known, v, gs, gv; mtype r;
  atomic { if :: c == 1 -> told0 = told; new0 = newest; before = late; if :: gone = id == 0 :: true fi :: else fi;
  v = 1; do :: v < newest -> v++ :: break od; /* from a cache, of any age */
#ifdef NO_BOUND
  known = funds + 1 };
#else
  if :: known = funds :: true fi };
#endif
again:
  atomic { r = 0; gs = 0; gv = 0;
    if :: goto giveUp :: true fi;
#ifndef NO_GONE
    if :: c == 0 && gone -> goto giveUp :: else fi;
#endif
#ifdef NO_PROOF
    if :: limit[v] == FROZEN -> goto refuse :: else fi;             /* without an attempt that the guard refuses */
#endif
    if
    :: attempt((c == 0 && gone), id, known, v); if :: true :: r = UNKNOWN; gs = 0; gv = 0 fi
    :: c == 0 && !late -> late = true; lateKnown = known; lateVer = v; r = UNKNOWN
    fi;
    if :: r == OK || r == EXISTS -> goto done :: else fi };
  if
  :: r == UNKNOWN -> atomic { if :: header[id] -> goto done :: else -> goto again fi }
  :: r == REFUSED && gv == 0 ->  /* create the guard: no debit passes it before it has a version */
#ifdef NO_CREATE
     atomic { if :: !guard -> guard = true; gver = v :: else fi }; goto again
#else
     guard = true; v = newest; atomic { setVersion(v); goto again }
#endif
#ifndef NO_SYNC
  :: r == REFUSED && gv != 0 && gv != v -> v = newest; atomic { if :: gv < v -> setVersion(v) :: else fi; goto again }
#endif
  :: else
  fi;
#ifndef NO_EXACT
  atomic { if :: known < funds -> known = funds :: else fi;         /* read strongly, after the refusal */
  if :: limit[v] != FROZEN && gs + DEBIT(id) <= known + OWN(id) + limit[v] -> goto again :: else fi };
#endif
#ifndef NO_ANEW
  atomic { if :: newest != v -> v = newest; goto again :: else fi };
#endif
refuse:
  atomic { if
#ifndef NO_HEADER
    :: header[id] -> goto done
#endif
    :: else -> assert(G4 || !header[id]); assert(G8 || c == 0 || refuses(1, id) || refuses(2, id));
       if :: id == 0 && (before || c == 1 && gone || c == 0 && late) -> denied = true :: else fi
    fi; goto out };
giveUp:    /* 504 outcome_unknown if an attempt may still be applied, else 503: nothing was written */
#ifdef NO_UNKNOWN
  atomic { if :: c == 0 && late -> denied = true :: else fi };
#endif
  goto out;
done: assert(G1 || posted[id]);
out:  atomic { known = 0; v = 0; gs = 0; gv = 0; r = 0 } }

proctype Late(byte id) { byte gs, gv; mtype r;  /* the network delivers it, or never does */
end: do :: atomic { late -> attempt(true, id, lateKnown, lateVer);
       late = false; before = false; denied = false; lateKnown = 0; lateVer = 0; r = 0; gs = 0; gv = 0 } od }

proctype Creditor() { funds++; told++ }
proctype Operator() {
  newest = 2;
#ifndef NO_TELL
  if :: guard -> atomic { setVersion(2) } :: else fi;
#endif
  acked = 2 }

init { atomic { limit[1] = 1; if :: limit[2] = 0 :: limit[2] = 3 :: limit[2] = FROZEN fi;
  if :: guard = true; gver = 1 :: skip fi;
  run Command(0, 0); if :: run Command(1, 1) :: run Command(1, 0) fi; run Late(0); run Creditor(); run Operator() } }
