/** A field of a request, and the rule that it breaks. */
export interface FieldError {
  field: string;
  rule: string;
}

/** The base of all errors of this client. */
export class LedgerError extends Error {
  override name = this.constructor.name;
}

/** The ledger answered with a problem (RFC 9457). If the status is 4xx or 503, the request wrote nothing. */
export class RefusedError extends LedgerError {
  /** Stable, such as insufficient_funds. */
  readonly code: string;
  readonly fields: FieldError[];

  /** @param problem all its members, such as `available` with insufficient_funds */
  constructor(
    readonly status: number, readonly problem: Record<string, unknown> & { code: string; errors?: FieldError[] },
  ) {
    const fields = problem.errors ?? [];
    super([`${problem.code}: ${problem["detail"]}`, ...fields.map((f) => `${f.field}: ${f.rule}`)].join("\n  "));
    this.code = problem.code;
    this.fields = fields;
  }
}

/**
 * The outcome of a write is unknown: it may have been applied, and may still be. `id` names what it writes. The same
 * request with the same id can be sent again safely. Or read what is there.
 */
export class UnknownError extends LedgerError {
  constructor(readonly id: string, readonly attempts: number, options?: ErrorOptions) {
    super(`it is not known whether "${id}" was written after ${attempts} attempts; look for it, or send the same ` +
      "request again with the same id", options);
  }
}

/** No connection to the ledger can be made. Nothing was sent. */
export class UnreachableError extends LedgerError {}

/** A reply that is none of the ledger: a gateway or another program sent it. It wrote nothing. */
export class StatusError extends LedgerError {
  constructor(readonly status: number, text: string) {
    super(`status ${status} without a code of the ledger: ${text}; check the address and the credentials`);
  }
}
