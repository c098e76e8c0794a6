"""Checks of .ci/surface as a user without any role: nothing is revealed, changed, or answered with 5xx."""
import schemathesis

# Routes under /v1 for which users need no role: see docs/access.md. A batch has a status for each request within a 200.
OPEN = {"/v1/me", "/v1/assets", "/v1/assets/{asset}"}


@schemathesis.check
def nothing_for_nobody(ctx, response, case):
    path, status = case.operation.path, response.status_code
    assert status < 500, f"failed with {status}"
    if not path.startswith("/v1/") or path in OPEN and case.method == "GET":
        return
    if status == 200 and path == "/v1/batches":
        answers = response.json()["results"]
        assert all(a["status"] in (400, 403, 422) for a in answers), "a request of a batch was executed"
        assert all(a["body"]["code"] in CODES for a in answers if a["status"] == 422), "a batch reveals what exists"
        return
    assert status in (400, 401, 403, 404, 405, 413, 415, 422), f"answered {status}"
    assert status != 422 or response.json()["code"] in CODES, "reveals what exists"


# Codes of a 422 that reveal nothing: an unknown account or transaction has the same code, or the body itself is invalid
# or names too many of them. Of these, a hidden transaction counts as much as one that does not exist.
CODES = {"account_not_found", "transaction_not_found", "invalid_transaction", "batch_too_large"}
