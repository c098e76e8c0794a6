"""Deploys the ledger in this folder to a stand-in for AWS with the documented commands, and uses, updates and deletes
the deployment. docs/testing.md says what this proves. The environment has the stand-in's address and credentials."""
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request

import botocore.auth
import botocore.awsrequest
import botocore.exceptions
import botocore.session
import yaml

STACK, REGION, ENDPOINT = "ledger-prod", "us-east-1", os.environ["AWS_ENDPOINT_URL"]
DOCUMENT = open("docs/deployment.md").read()
lambdas, dynamodb, iam, kms, stacks = (botocore.session.get_session().create_client(service, region_name=REGION)
                                       for service in ("lambda", "dynamodb", "iam", "kms", "cloudformation"))
began = time.monotonic()


def check(ok, what):
    if not ok:
        raise SystemExit(f"FAILED: {what}")
    print(f"{time.monotonic() - began:.0f} s: {what}", flush=True)


def until(what, condition, seconds=120):
    end = time.monotonic() + seconds
    while not (ok := condition()) and time.monotonic() < end:
        time.sleep(0.2)
    check(ok, what)


def snippets(language, after, before):
    """The code in a language between two texts of the document."""
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT.split(after)[1].split(before)[0], re.S)


def shell(script):
    script = script.replace("sam deploy --config-env prod", "sam deploy --config-env prod --no-confirm-changeset")
    subprocess.run(["bash", "-exc", script], check=True)


def user(name, *statements):
    """A session of a new IAM user."""
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName=name, PolicyDocument=policy)
    key, session = iam.create_access_key(UserName=name)["AccessKey"], botocore.session.Session()
    session.set_credentials(key["AccessKeyId"], key["SecretAccessKey"])
    return session


def call(session, method, path, body=None):
    """The status and the answer of a signed request to the API."""
    host = f"{out['LedgerApi']}.execute-api.localhost:{ENDPOINT.rsplit(':')[-1]}"
    data, headers = body and json.dumps(body).encode(), {"Content-Type": "application/json"}
    request = botocore.awsrequest.AWSRequest(method, f"http://{host}{path}", headers, data)
    botocore.auth.SigV4Auth(session.get_credentials(), "execute-api", REGION).add_auth(request)
    plain = urllib.request.Request(ENDPOINT + path, data, {**request.headers, "Host": host}, method=method)
    try:
        with urllib.request.urlopen(plain, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


def get(path):
    return call(clerk, "GET", path)[1]


def transfer(session, id, expires_s=None):
    """Posts a transfer, or places a hold that is due after expires_s to expires_s + 1 s, and returns the status."""
    postings = [{"account": a, "asset": "USD", "quantity": q} for a, q in (("bank", "-100"), ("jane", "100"))]
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + (expires_s or 0) + 1))
    hold = {"hold": {"expires_at": at}} if expires_s else {}
    return call(session, "POST", "/v1/transactions", {"id": id, "postings": postings, **hold})[0]


def succeeds(function, kind="none", images=True):
    """Whether a function succeeds with the stream's records of all items whose sort key begins with kind."""
    items = dynamodb.scan(TableName=out["LedgerTable"], ConsistentRead=True)["Items"]
    changes = [{"SequenceNumber": str(10 ** 21 + n), "Keys": {"PK": item["PK"], "SK": item["SK"]}, "NewImage": item}
               for n, item in enumerate(items) if item["SK"]["S"].startswith(kind)]
    for change in [] if images else changes:
        del change["NewImage"]
    event = {"Records": [{"eventName": "INSERT", "dynamodb": change} for change in changes]}
    answer = lambdas.invoke(FunctionName=out[function + "Function"] + ":live", Payload=json.dumps(event))
    result = json.load(answer["Payload"])
    return "FunctionError" not in answer and not result.get("batchItemFailures") and not result.get("Failed")


def entries():
    """The entries of holds by expiry."""
    items = dynamodb.scan(TableName=out["LedgerTable"], ConsistentRead=True)["Items"]
    return [item for item in items if item["SK"]["S"] == "OPEN_HOLD"]


def needs(function, works, *actions):
    """Checks that a function fails while its role lacks one of the actions on the table, and then works."""
    role = stacks.describe_stack_resource(StackName=STACK, LogicalResourceId=function + "Role")
    role = role["StackResourceDetail"]["PhysicalResourceId"]
    policy = {"RoleName": role, "PolicyName": iam.list_role_policies(RoleName=role)["PolicyNames"][0]}
    text = json.dumps(iam.get_role_policy(**policy)["PolicyDocument"])
    for action in actions:
        less = text.replace(f'"dynamodb:{action}"', '"dynamodb:DescribeLimits"')
        iam.put_role_policy(**policy, PolicyDocument=less)
        until(f"the {function} function fails without {action}", lambda: less != text and not works())
    iam.put_role_policy(**policy, PolicyDocument=text)
    check(works(), f"the {function} function works with its role")


def denied(request):
    try:
        request()
    except botocore.exceptions.ClientError as refusal:
        return "explicit deny" in str(refusal)


# The documented deployment of the ledger and its alarms.
deploys, definitions, watches = snippets("console", "## Deploy\n", "### If the first")
definitions = deploys.split("\n")[0] + "\n" + definitions.replace("ledger import books.jsonl", "")
shell(deploys + definitions + watches)
out = {o["OutputKey"]: o["OutputValue"] for o in stacks.describe_stacks(StackName=STACK)["Stacks"][0]["Outputs"]}
check(True, "the ledger and its alarms are deployed")

# The documented policy of callers, and its part for reads.
policy = snippets("json", "### Callers with IAM", "### Callers with tokens")[0].replace("API_ID", out["LedgerApi"])
statement = json.loads(policy)["Statement"][0]
clerk = user("clerk", statement)
reader = user("reader", {**statement, "Resource": [r for r in statement["Resource"] if "/GET/" in r]})
for path, body in (("assets/USD", {"name": "US dollar", "scale": 2}),
                   ("accounts/bank", {"name": "Bank", "overdraft": "unlimited"}), ("accounts/jane", {"name": "Jane"})):
    check(call(clerk, "PUT", "/v1/" + path, body)[0] == 201, f"{path} is created")
check(call(reader, "GET", "/v1/me")[0] == 200 and transfer(reader, "t-1") == 403, "a caller with reads only reads")

# The stream's consumers, and the sweeper's schedule.
check(transfer(clerk, "h-1", expires_s=4) == 201 == transfer(clerk, "t-1"), "a hold and a transfer are posted")
until("it is projected", lambda: get("/v1/accounts/jane/balances/USD")["quantity"] == "100")
until("it is listed", lambda: "t-1" in [t["id"] for t in get("/v1/transactions")["data"]])
until("it is in the journal", lambda: '"t-1"' in json.dumps(get("/v1/journal")))
until("the hold has expired", lambda: get("/v1/transactions/h-1")["status"] == "expired")

# The roles. The sweeper lacks a right before its hold is due, so that the schedule does not end it. It reads with
# GetItem only when an ended hold is listed as open.
needs("Command", lambda: transfer(clerk, "t-2") == 201, "PutItem")
needs("Query", lambda: call(clerk, "GET", "/v1/transactions")[0] == 200, "Query")
needs("Projector", lambda: succeeds("Projector", "POSTING#"), "PutItem")
needs("Lister", lambda: succeeds("Lister", "TXN#"), "PutItem")
needs("Lister", lambda: succeeds("Lister", "TXN#", images=False), "GetItem")
check(transfer(clerk, "h-2", expires_s=4) == 201, "a second hold is placed")
needs("Sweeper", lambda: succeeds("Sweeper"), "PutItem", "Query")
until("no hold is open", lambda: not any("PK2" in entry for entry in entries()))
for entry in entries():
    dynamodb.put_item(TableName=out["LedgerTable"], Item={**entry, "PK2": {"S": "OPEN_HOLDS#0"}})
needs("Sweeper", lambda: succeeds("Sweeper"), "GetItem")

# The table's policy. The stand-in stores it, but evaluates only policies of identities, so an administrator gets it.
template = yaml.safe_load(open(".aws-sam/prod/build/template.yaml"))
policy = template["Resources"]["LedgerTable"]["Properties"]["ResourcePolicy"]["PolicyDocument"]
del policy["Statement"][0]["Condition"]  # of the role that may delete
arn = dynamodb.describe_table(TableName=out["LedgerTable"])["Table"]["TableArn"]
dynamodb.put_resource_policy(ResourceArn=arn, Policy=json.dumps(policy))
del policy["Statement"][0]["Principal"]
admin = user("administrator", {"Effect": "Allow", "Action": "*", "Resource": "*"}, *policy["Statement"])
admin = admin.create_client("dynamodb", region_name=REGION)
item = {"TableName": out["LedgerTable"], "Key": {"PK": {"S": "x"}, "SK": {"S": "x"}}}
batch = {out["LedgerTable"]: [{"DeleteRequest": {"Key": item["Key"]}}]}
check(denied(lambda: admin.delete_item(**item)), "an administrator cannot delete")
check(denied(lambda: admin.transact_write_items(TransactItems=[{"Delete": item}])), "nor in a transaction")
check(denied(lambda: admin.batch_write_item(RequestItems=batch)), "nor in a batch")
check("Item" not in admin.get_item(**item), "but read")

# An update of parameters alone, which turns on what prod leaves out, and the documented way back.
on = {"JwtIssuer": "https://issuer.example.com", "JwtAudience": "ledger", "JwtAdminScope": "admin",
      "JwtReadScope": "read", "JwtWriteScope": "write", "CorsOrigins": "https://app.example.com",
      "Tracing": "PassThrough", "HotKeys": "Disabled", "Deployment": "AllAtOnce", "IndexedMetadata": "order",
      "KmsKeyArn": kms.create_key()["KeyMetadata"]["Arn"], "CommandConcurrency": "5",
      "BreakGlassRoleArn": "arn:aws:iam::123456789012:role/break-glass"}
shell(f"export AWS_DEFAULT_REGION={REGION}; sam deploy --config-env prod --parameter-overrides " +
      " ".join(f"{name}={value}" for name, value in on.items()))
for name in ("Command", "Query", "Projector", "Lister"):
    found = lambdas.list_versions_by_function(FunctionName=out[name + "Function"])["Versions"]
    check({"1", "2"} <= {v["Version"] for v in found}, f"the {name} function has a new version, and the one before")
shell(definitions + "VERSION=1\n" + snippets("console", "**Roll back:**", "**Rotate:**")[0])
live = lambdas.get_alias(FunctionName=out["CommandFunction"], Name="live")["FunctionVersion"]
check(live == "1", "the alias is back at the version before")

# The deletion.
count = {"TableName": out["LedgerTable"], "Select": "COUNT", "ConsistentRead": True}
before = dynamodb.scan(**count)["Count"]
for stack in (STACK + "-watch", STACK):
    stacks.delete_stack(StackName=stack)
    stacks.get_waiter("stack_delete_complete").wait(StackName=stack, WaiterConfig={"Delay": 1})
check(dynamodb.scan(**count)["Count"] == before > 0, "the table remains, with its items")
